//go:build linux

package daemon_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/assayd/assayd/runtime/fault"
)

// Wherever in the life of a trial the daemon is killed, the agents do not notice, nothing
// that was acknowledged is lost or judged twice, and nothing is left over.
// A third of the points is tried here, another one each day, and all in TestSoakACrash….
func TestACrashAtAnyPointOfATrialCostsNothing(t *testing.T) {
	t.Parallel()
	crashOfATrial(t, partOf(ofATrial, 6))
}

// partOf leaves every nth lap: the same all day, so that what fails can be looked into, and others
// tomorrow. The long suites take all.
func partOf(laps []lap, n int) (some []lap) {
	for i, l := range laps {
		if i%n == time.Now().UTC().YearDay()%n {
			some = append(some, l)
		}
	}
	return some
}

func crashOfATrial(t *testing.T, laps []lap) {
	t.Helper()
	c := newCrashes(t)
	c.torn = "r.run.steady.jsonl"
	c.write("r.hcl", c.withPrivateSet()+c.agent("striver", striver)+
		c.run("steady", []string{`agent "striver" {}`}, `timeout = "30m"`, `auto_eval = "2s"`)+
		c.run("limited", []string{`agent "striver" { env = { COOLDOWN = "20" } }`}, `timeout = "30m"`, `auto_eval = "0s"`,
			"submissions {\n    max      = 3\n    cooldown = \"20s\"\n  }"))
	c.start()
	steady := c.begun("r.run.steady.jsonl")
	limited := c.begun("r.run.limited.jsonl")
	for _, id := range []string{steady, limited} {
		c.said(id, "Accepted")
	}
	c.look()
	c.through(laps)
	c.Logf("%d rounds of the steady agent", len(c.rounds()[steady]))
	c.said(limited, "exhausted")
	c.letGo(limited)
	c.letGo(steady)
	c.finished()
	if n := len(c.agents); n < 2 { // those of the extra trials may end between two looks
		t.Errorf("saw the agents of %d trials", n)
	}
	c.limitsHeld(limited, 3, 20*time.Second)
	c.over()
}

// ofATrial are the points that the daemon of a run comes by.
var ofATrial = []lap{
	{at: fault.StoreOpened, start: true},
	{at: fault.SocketOpened, start: true},
	{at: fault.RoundsRestored, start: true},
	{at: fault.TrialSocketOpened, start: true},
	{at: fault.ImageLookedAt, start: true},
	{at: fault.ContextStored, lead: anew},
	{at: fault.SpecsAccepted, lead: anew},
	{at: fault.RunBegun, lead: anew},
	{at: fault.StateWritten, lead: anew},
	{at: fault.AgentStaged, lead: anew},
	{at: fault.FolderMade, lead: anew},
	{at: fault.ContainerCreated, lead: anew},
	{at: fault.ContainerStarted, lead: anew},
	{at: fault.TrialStarted, lead: anew},
	{at: fault.GuestHeard, lead: anew},
	{at: fault.LogAppended},
	{at: fault.RoundReserved},
	{at: fault.SpoolMade},
	{at: fault.BlobWritten},
	{at: fault.ArchiveStored},
	{at: fault.RoundAccepted},
	{at: fault.RoundRunning},
	{at: fault.JudgeStarted},
	{at: fault.ArchivePlaced},
	{at: fault.VerdictParsed},
	{at: fault.VerdictStored},
	{at: fault.JudgeRemoved},
	{at: fault.LineAppended},
	{at: fault.LineFlushed},
	{at: fault.LineMarked},
	{at: fault.WarmStarted},
	{at: fault.TrialFrozen},
	{at: fault.AutoTaken},
	{at: fault.FinalTaken, lead: anew},
	{at: fault.PrivateAsked, lead: anew},
	{at: fault.PrivateJudged, lead: anew},
	{at: fault.TrialFinished, lead: anew},
	{at: fault.ContainerRemoved, lead: anew},
	{at: fault.TrialCleaned, lead: anew},
	{at: fault.TrialScanned, lead: anew},
	{at: fault.TrialFlagged, lead: anew},
	{at: fault.RunFinished, lead: anew},
}

// The same for what is not in the life of each trial: games, judges in two stages, images,
// archives judged without a trial, and the collection of garbage.
func TestACrashAtAnyPointOfOtherWorkCostsNothing(t *testing.T) {
	t.Parallel()
	crashOfOtherWork(t, partOf(ofOtherWork, 6))
}

func crashOfOtherWork(t *testing.T, laps []lap) {
	t.Helper()
	c := newCrashes(t)
	c.torn = "r.run.games.jsonl"
	c.write("r.hcl", c.arcade()+c.staged()+c.withPrivateSet()+c.agent("player", player)+
		fmt.Sprintf("\nrun \"games\" {\n  tasks = [benchmark.%s-games]\n  agent \"player\" {}\n  timeout = \"30m\"\n}\n", c.bench))
	c.start()
	games := c.begun("r.run.games.jsonl")
	c.said(games, "closed")
	c.look()
	c.through(laps)
	c.letGo(games)
	c.finished()
	c.everyMixedRunCountsOnce(countOf(laps, "mixed"))
	c.everyGameHasItsVerdict(games, c.records("r.run.games.jsonl"))
	c.over()
}

// countOf is how many laps end at a point that begins with a word.
func countOf(laps []lap, word string) (n int) {
	for _, l := range laps {
		if strings.HasPrefix(string(l.at), word) {
			n++
		}
	}
	return n
}

var ofOtherWork = []lap{
	{at: fault.GameReserved},
	{at: fault.GameStarted},
	{at: fault.GameOpened},
	{at: fault.GameMoved},
	{at: fault.GameSaved},
	{at: fault.GameKept},
	{at: fault.GameJudged},
	{at: fault.GameRemoved},
	{at: fault.OutputsTaken, lead: inStages},
	{at: fault.StageRemoved, lead: inStages},
	{at: fault.BuildStarted, lead: build},
	{at: fault.WorkdirTaken, lead: build},
	{at: fault.ImageBuilt, lead: build},
	{at: fault.SanityAsked, lead: once},
	{at: fault.SanityKnown, lead: once},
	{at: fault.PatchTaken, lead: once},
	{at: fault.PatchKept, lead: once},
	{at: fault.EvalOpened, lead: eval},
	{at: fault.EvalAccepted, lead: eval},
	{at: fault.ImageRemoved, lead: collect},
	{at: fault.BlobRemoved, lead: collect},
	{at: fault.StraySwept, start: true, lead: stray},
}

// Every point that the program has is one at which it was killed.
func TestTheCrashSuiteKnowsEveryPoint(t *testing.T) {
	t.Parallel()
	killed := map[fault.Point]bool{}
	for _, l := range slices.Concat(ofATrial, ofOtherWork, ofMixedRuns, ofAnExchange, ofHolds, ofOrders, ofNotes) {
		killed[l.at] = true
	}
	for _, p := range fault.Points {
		if !killed[p] {
			t.Errorf("no lap of the crash suite ends at %q", p)
		}
		delete(killed, p)
	}
	for _, p := range slices.Sorted(maps.Keys(killed)) {
		t.Errorf("%q is not in fault.Points", p)
	}
}
