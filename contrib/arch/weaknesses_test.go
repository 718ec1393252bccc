package arch

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// weakness is one way in which a harness of this kind was broken, by its number in the
// analysis of SForge, and what keeps it from happening here: tests, "folder TestName", or a
// reason why it cannot apply, or what it waits for.
type weakness struct {
	number int
	what   string
	tests  []string
	reason string
}

// weaknesses are W-1 to W-38, none left out.
var weaknesses = []weakness{
	{
		1, "one secret known to everybody opens the judge",
		[]string{"runtime/judge TestRequestsThatAreRefused", "daemon TestHostViews"},
		"there is no admin secret: what is not an agent's goes over the control socket",
	},
	{
		2, "a registration names the backend or registry that judges", nil,
		"no request names an engine, an image or a registry; they come from checked specs and settings alone",
	},
	{3, "a run's name leads out of the log folder", []string{"reconcile/export TestAnExportStaysInItsFolder", "config TestGolden"}, "names have a grammar"},
	{4, "./tests/x passes where tests/x is excluded", []string{"runtime/judge TestCleaningKeepsOnlyWhatMayBeSubmitted", "runtime/judge TestNoArchiveChangesAHiddenFile"}, ""},
	{5, "client and server disagree on exclusions", []string{"runtime/judge TestCleaningKeepsOnlyWhatMayBeSubmitted", "runtime/guest TestExclusionsMatchAsThoseOfTar"}, ""},
	{6, "links in archives read or overwrite hidden files", []string{"runtime/judge TestCleaningKeepsOnlyWhatMayBeSubmitted", "runtime/judge TestCleaningRefusesWhatNoHonestArchiveHolds", "runtime/judge TestOutputsAreHostile"}, ""},
	{
		7, "submitted code shares a container with the hidden tests",
		[]string{"runtime/judge TestStagesKeepCodeAndAnswersApart", "daemon TestAPatchedTestRunnerIsTampering", "daemon TestTheExamplesRunAsTheyAre"},
		"a shared container is said to be one in every report (isolation); a judge in stages excludes it",
	},
	{8, "a result printed by the submission counts", []string{"runtime/judge/parser TestAttacksOnPytest", "runtime/judge/parser TestAttacksOnGoTest", "runtime/judge/parser TestAttacksOnUnittest"}, ""},
	{9, "names of failing tests carry anything out", []string{"runtime/judge TestFeedbackTellsNoMoreThanTheTaskAllows"}, ""},
	{10, "the judge's container has the network", []string{"runtime/judge TestJudgingInRealContainers"}, ""},
	{
		11, "keys in the judge's environment",
		[]string{"runtime/image TestWhatIsLentIsForCommandsAlone", "runtime/image TestSecretsOfABuildOnDocker"},
		"a container gets the environment of its task and nothing of the daemon's",
	},
	{12, "anybody's report is read by its id", []string{"runtime/judge TestRequestsThatAreRefused", "runtime/judge TestAnAgentSubmitsWaitsAndLooksBack"}, ""},
	{13, "anybody plays in anybody's game", []string{"runtime/judge TestAGameBelongsToItsTrial"}, ""},
	{
		14, "hidden tests lie in public registries", nil,
		"images are made and kept on the machine; push is a command of its own, and whoever pushes judge images decides who can read them",
	},
	{15, "the work image keeps the script that removed the tests", []string{"runtime/task/sforge TestATaskWithCommandsIsReadAsItIsMeant", "runtime/image TestARecipeThatSetsItselfUpOnDocker", "runtime/image TestHiddenFilesAreInTheJudgeImageOnly"}, ""},
	{16, "the agent edits what takes snapshots of it", []string{"daemon TestAutoEvalJudgesFromOutside", "runtime/trial TestAutoEvalFreezesForTheMomentOfTheCopy"}, ""},
	{
		17, "automatic rounds can be observed",
		[]string{"runtime/judge TestAnAgentSubmitsWaitsAndLooksBack", "runtime/trial TestAutoEvalFreezesForTheMomentOfTheCopy"},
		"that files may be judged at any time is a rule of the task and told; no process, file or answer shows when, or what came out",
	},
	{
		18, "tokens and keys on command lines and in pods",
		[]string{"daemon TestAnAgentIsAloneInItsContainer"},
		"the daemon starts no program to talk to its engine; keys of models wait for the gateway and stay in the daemon",
	},
	{19, "secrets in files of results and builds", []string{"config TestSecretsAreNotShown", "runtime/image TestSecretsOfABuildOnDocker", "runtime/image TestASecretThatIsLeftInTheImageEndsTheBuild"}, ""},
	{
		20, "tokens in addresses, over plain HTTP to everybody",
		[]string{"runtime/trial TestDoorsArePrivateAndShort"},
		"agents reach the judge through a socket of their own; the control socket has mode 0660; old clients may still say their token in an address, which no log writes down",
	},
	{
		21, "holes in packet filters",
		[]string{"daemon TestAnAgentIsAloneInItsContainer"},
		"a task without network has a container without one, not a filtered one; allow lists wait for the gateway",
	},
	{22, "cleaning of filters races with starts", nil, "there are no filters to clean"},
	{23, "a broken machine is a zero", []string{"runtime/judge TestFailuresOfTheMachineryAreRefundedAndNeverAZero", "runtime/trial TestDecide", "daemon TestALostContainerCostsOneTry"}, ""},
	{24, "agents go on after the deadline", []string{"daemon TestTheDeadlineHoldsWithoutADaemon", "daemon TestNothingIsAcceptedAfterTheDeadline"}, ""},
	{25, "the last state is never judged", []string{"daemon TestTheDeadlineHoldsWithoutADaemon", "runtime/trial TestLifeOfATrial"}, ""},
	{26, "a run that was cut scores as a whole one", []string{"runtime/judge TestVerdicts", "runtime/judge TestAManifestComesFromTheTaskOrAReferenceRun"}, ""},
	{27, "infinite scores", []string{"runtime/judge TestNothingInfiniteGetsIntoAReport", "runtime/judge/parser FuzzEveryParser"}, ""},
	{28, "negative scores are not read", []string{"runtime/judge/parser TestScoreSum"}, ""},
	{29, "ties, and rounds that passed nothing, have no best", []string{"runtime/judge TestTheBestRound", "runtime/judge TestAGraderThatSaysInvalidIsHeededByEveryPolicy"}, ""},
	{
		30, "the best of many noisy rounds",
		[]string{"daemon TestTheExamplesRunAsTheyAre", "runtime/judge TestAnUnchangedTreeIsNotJudgedAgain", "runtime/judge TestEqualRoundsSentAtOnceDrawOneLot", "runtime/judge TestBudgetAndCooldownAreTold"},
		"an unchanged tree is judged once, rounds can be limited, and a private set decides after the feedback is over",
	},
	{31, "an invalid round is shown as valid", []string{"daemon TestABenchmarkInSForgesFormatAndItsClient", "runtime/judge TestAGraderThatSaysInvalidIsHeededByEveryPolicy"}, ""},
	{32, "timed judging beside any number of neighbours", []string{"runtime/judge TestAnExclusiveJudgeHasCPUsOfItsOwn", "runtime/judge TestRealContainersLeaveTheCPUsOfAnExclusiveJudge", "reconcile TestAdmissionNeverOverbooks"}, ""},
	{33, "a run's name used twice mixes histories", []string{"reconcile TestAnOpenExecutionKeepsItsContexts", "runtime/trial TestAnEarlierTrysRoundsAreNotWaitedFor"}, "trials have names of their own in each execution"},
	{34, "two games get one number", []string{"runtime/judge TestNumbersOfSessionsAreTheTrials"}, ""},
	{35, "a game counts what it ended with, and ends in silence", []string{"runtime/judge TestAGameIsPlayedAndItsPeakCounts", "runtime/judge TestHowASessionEnds", "runtime/judge TestBoundsOnSessions"}, ""},
	{36, "runner and judge read different task files", []string{"daemon TestEditsTouchNothingThatRuns"}, "one compiled task is in the trial's stored state, and the judge is given that one"},
	{37, "limits of one task hold for another", []string{"runtime/judge TestNoContainerIsUsedThatIsTooOldOrOfAnotherKind", "runtime/trial TestKeysAreStable"}, "limits are the session's, and a session is one trial's"},
	{38, "times that the agent can write", []string{"reconcile/export TestTheTreeOfAnIterativeTask", "daemon TestABenchmarkInSForgesFormatAndItsClient"}, "every time in a record is the daemon's"},
}

// Each number has its line, and each test that is named is there.
func TestEveryKnownWeaknessIsShut(t *testing.T) {
	there := testsOf(t, "../..")
	for i, w := range weaknesses {
		if w.number != i+1 {
			t.Fatalf("W-%d stands where W-%d should", w.number, i+1)
		}
		if len(w.tests) == 0 && w.reason == "" {
			t.Errorf("W-%d (%s): neither a test nor a reason", w.number, w.what)
		}
		for _, name := range w.tests {
			if !there[name] {
				t.Errorf("W-%d (%s): there is no test %s", w.number, w.what, name)
			}
		}
	}
	if len(weaknesses) != 38 {
		t.Errorf("%d weaknesses, want 38", len(weaknesses))
	}
}

// testsOf lists the tests and fuzz targets of the tree, as "folder TestName".
func testsOf(t *testing.T, root string) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	declaration := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, "_test.go") {
			return err
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		dir, err := filepath.Rel(root, filepath.Dir(name))
		for _, m := range declaration.FindAllSubmatch(text, -1) {
			found[filepath.ToSlash(dir)+" "+string(bytes.TrimSpace(m[1]))] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
