//go:build real

package daemon_test

import (
	"bufio"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/reconcile/query"
	"github.com/assayd/assayd/reconcile/query/trialview"
	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/container/containertest"
	"github.com/assayd/assayd/runtime/judge/parser"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/trial"
	trialrecord "github.com/assayd/assayd/runtime/trial/record"
)

// Real pull requests, turned into tasks, go through the real program from a spec file to
// verdicts: the oracle resolves every one, nop none, and an agent that submits a part of
// the fix and then all of it sees what each is worth, test by test.
func TestRealPullRequests(t *testing.T) {
	pulls := realPulls(t)
	w := newFixture(t)
	run := w.makeTrue(writeSpec(t, w.specs, w.bench, pulls, realRun{Agents: []string{"oracle", "nop", "halfway"}, Parallel: 4}))
	w.noContainerIsLeft()
	log := readResults(t, run.Results)
	for _, p := range pulls {
		t.Run(p.ID, func(t *testing.T) {
			checkOracle(t, p, trialOf(t, run, p, "oracle"), log)
			checkNop(t, p, trialOf(t, run, p, "nop"), log)
			halfway := trialOf(t, run, p, "halfway")
			checkHalfway(t, p, halfway, log, w.agentLog(halfway.ID))
			w.checkWorkImage(t, p, log.work[p.ID], "/workspace")
		})
	}
}

// makeTrue runs a spec file to its end and returns the state of its only run.
func (w *fixture) makeTrue(spec string) query.RunStatus {
	w.Helper()
	w.configured(fmt.Sprintf("repositories {\n  allow_file = [%q]\n}\n", os.Getenv("ASSAYD_REPOS")))
	var said strings.Builder
	args := slices.Concat([]string{"run", "--json", "--state", w.state}, w.flags, []string{spec})
	cmd := exec.CommandContext(w.Context(), binary, args...)
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		w.Errorf("assayd run: %v\n%s", err, said.String())
	}
	var answer struct{ Runs []query.RunStatus }
	if err := json.Unmarshal(out, &answer); err != nil || len(answer.Runs) != 1 {
		w.Fatalf("assayd run printed no outcome (%v):\n%s\n%s", err, out, said.String())
	}
	for i, x := range answer.Runs[0].Trials {
		answer.Runs[0].Trials[i].Rounds = w.roundsOf(x.ID)
	}
	return answer.Runs[0]
}

// roundsOf are the rounds of a trial with all their tests, which the state of a run leaves out.
func (w *fixture) roundsOf(trial string) (rounds []trialview.Round) {
	w.Helper()
	out, err := exec.CommandContext(w.Context(), binary, "submissions", "--json", "--state", w.state, trial).Output()
	if err == nil {
		err = json.Unmarshal(out, &rounds)
	}
	if err != nil {
		w.Fatalf("assayd submissions %s: %v\n%s", trial, err, out)
	}
	return rounds
}

// results is what a result file says of trials and images.
type results struct {
	finished map[string]trial.Finished // by trial
	work     map[string]string         // work image by task
}

func readResults(t *testing.T, file string) results {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r := results{map[string]trial.Finished{}, map[string]string{}}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for seq := 1; lines.Scan(); seq++ {
		var line struct {
			Seq  int
			Type string
		}
		decode(t, lines.Bytes(), &line)
		if line.Seq != seq {
			t.Fatalf("%s: line %d has seq %d", file, seq, line.Seq)
		}
		switch line.Type {
		case "trial.finished":
			var f trial.Finished
			decode(t, lines.Bytes(), &f)
			r.finished[f.Trial] = f
		case "image.built":
			var b trialrecord.ImageBuilt
			decode(t, lines.Bytes(), &b)
			if b.Role == container.RoleWork {
				r.work[b.Task] = b.Ref
			}
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return r
}

func decode(t *testing.T, line []byte, v any) {
	t.Helper()
	if err := json.Unmarshal(line, v); err != nil {
		t.Fatalf("%v in %s", err, line)
	}
}

func trialOf(t *testing.T, run query.RunStatus, p pull, agent string) trialview.TrialStatus {
	t.Helper()
	for _, x := range run.Trials {
		if x.Task == p.ID && x.Agent == agent {
			return x
		}
	}
	t.Fatalf("there is no trial of %s", agent)
	return trialview.TrialStatus{}
}

func checkOracle(t *testing.T, p pull, x trialview.TrialStatus, log results) {
	t.Helper()
	checkFinished(t, p, x, log, trial.Resolved, true)
	if rounds := agentRounds(x); len(rounds) != 1 {
		t.Errorf("oracle: %d rounds", len(rounds))
	} else {
		checkRound(t, p, "oracle", rounds[0], nil)
	}
}

func checkNop(t *testing.T, p pull, x trialview.TrialStatus, log results) {
	t.Helper()
	checkFinished(t, p, x, log, trial.Unresolved, false)
	if len(x.Rounds) != 1 || x.Rounds[0].Round != "final-1" {
		t.Errorf("nop: rounds %+v", x.Rounds)
		return
	}
	checkRound(t, p, "nop", x.Rounds[0], p.FailToPass)
}

// checkHalfway: the first round lacks a test of the fix at least, the second nothing, and
// the agent was told so by name.
func checkHalfway(t *testing.T, p pull, x trialview.TrialStatus, log results, told string) {
	t.Helper()
	checkFinished(t, p, x, log, trial.Resolved, true)
	rounds := agentRounds(x)
	if len(rounds) != 2 || rounds[0].Report == nil {
		t.Errorf("halfway: rounds %+v", x.Rounds)
		return
	}
	var failing []string
	for _, test := range rounds[0].Report.Tests {
		if slices.Contains(p.FailToPass, test.Name) && test.Status != parser.Passed {
			failing = append(failing, test.Name)
		}
	}
	if len(failing) == 0 {
		t.Error("halfway: a part of the fix passed every test")
	}
	checkRound(t, p, "halfway", rounds[0], failing)
	checkRound(t, p, "halfway", rounds[1], nil)
	for _, name := range failing {
		if !strings.Contains(told, name) {
			t.Errorf("halfway: the agent was not told of %s:\n%s", name, told)
		}
	}
}

// checkFinished compares the record of a trial: names and order are those of the task.
func checkFinished(t *testing.T, p pull, x trialview.TrialStatus, log results, want trial.Status, fixed bool) {
	t.Helper()
	f, ok := log.finished[x.ID]
	if !ok || f.Status != want || x.Status != want || f.Try != 1 || !f.Final || len(f.Flags) > 0 {
		t.Errorf("%s: %s (%s %s), try %d, flags %v; want %s", x.Agent, f.Status, f.Reason, f.Detail, f.Try, f.Flags, want)
		return
	}
	if diff := cmp.Diff(outcomes(p.FailToPass, fixed), f.FailToPass); diff != "" {
		t.Errorf("%s: fail_to_pass: %s", x.Agent, diff)
	}
	if diff := cmp.Diff(outcomes(p.PassToPass, true), f.PassToPass); diff != "" {
		t.Errorf("%s: pass_to_pass: %s", x.Agent, diff)
	}
}

func outcomes(names []string, passed bool) []trial.TestRecord {
	records := []trial.TestRecord{}
	for _, name := range names {
		records = append(records, trial.TestRecord{Name: name, Passed: passed})
	}
	return records
}

func agentRounds(x trialview.TrialStatus) []trialview.Round {
	return slices.DeleteFunc(slices.Clone(x.Rounds), func(r trialview.Round) bool {
		return !strings.HasPrefix(r.Round, string(round.KindAgent)+"-")
	})
}

// checkRound: the runner ended orderly, named the declared tests and those that fail
// anyway, and no others, and the given ones failed.
func checkRound(t *testing.T, p pull, agent string, info trialview.Round, failing []string) {
	t.Helper()
	r := info.Report
	if r == nil || r.Status != round.StatusOK || !r.Valid || r.Problem != "" || r.Tampered {
		t.Errorf("%s %s: %+v", agent, info.Round, r)
		return
	}
	want, got := map[string]bool{}, map[string]bool{}
	for _, name := range slices.Concat(p.FailToPass, p.PassToPass, p.Verified.FailingAnyway) {
		want[name] = !slices.Contains(failing, name) && !slices.Contains(p.Verified.FailingAnyway, name)
	}
	for _, test := range r.Tests {
		got[test.Name] = test.Status == parser.Passed
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s %s: %s", agent, info.Round, diff)
	}
	total := len(p.FailToPass) + len(p.PassToPass)
	if r.TotalTests != total || r.Passed != total-len(failing) {
		t.Errorf("%s %s: %d of %d passed; want %d of %d", agent, info.Round, r.Passed, r.TotalTests, total-len(failing), total)
	}
}

// checkWorkImage: the work image has the history up to the base commit, not one object
// more, and none of the hidden tests wherever it may lie.
func (w *fixture) checkWorkImage(t *testing.T, p pull, ref, workdir string) {
	t.Helper()
	c, err := w.engine.Start(t.Context(), container.Workload{
		Name: "assayd-real-" + containertest.Unique(), Image: ref, Argv: []string{"sleep", "10m"}, Network: container.NetworkNone,
		User: "0:0", Workdir: workdir, Labels: map[string]string{container.LabelOwner: w.owner},
	})
	if err != nil {
		t.Fatalf("start a container of the work image %q: %v", ref, err)
	}
	for inside, outside := range map[string][]string{
		"git cat-file --batch-all-objects --batch-check='%(objectname)'": {"rev-list", "--objects", "--no-object-names", p.Base},
		"git rev-list --all --reflog":                                    {"rev-list", p.Base},
		"git rev-parse HEAD":                                             {"rev-parse", p.Base},
	} {
		got, want := strings.Fields(w.inside(c.ID, inside)), strings.Fields(p.git(t, outside...))
		slices.Sort(got)
		slices.Sort(want)
		if len(got) == 0 || !slices.Equal(got, want) {
			t.Errorf("%s: %d lines; the base commit has %d", inside, len(got), len(want))
		}
	}
	if got := w.inside(c.ID, "if git cat-file -e "+p.Merge+"; then echo the merge commit; fi; git remote; git stash list"); got != "" {
		t.Errorf("in the work image: %s", got)
	}
	for _, file := range p.TestFiles {
		content := p.git(t, "show", p.Merge+":"+file)
		sums := w.inside(c.ID, fmt.Sprintf("find / -xdev -type f -size %dc -exec sha256sum {} +", len(content)))
		if strings.Contains(sums, fmt.Sprintf("%x", sha256.Sum256([]byte(content)))) {
			t.Errorf("the hidden %s is in the work image", file)
		}
	}
}
