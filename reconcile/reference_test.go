package reconcile

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/reconcile/history"
	"github.com/assayd/assayd/reconcile/query"
	"github.com/assayd/assayd/reconcile/query/trialview"
	"github.com/assayd/assayd/reconcile/summary"
	"github.com/assayd/assayd/runtime/judge"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/trial"
)

// TestAPrivateVerdictIsNoRecord: the trial's own verdict tells of it.
func TestAPrivateVerdictIsNoRecord(t *testing.T) {
	s, id := openStore(t)
	l := history.NewLedger(s)
	reserve(t, l, round.Submission{ID: "s1", Trial: id, Try: 1, Kind: round.KindPrivate, Number: 1, Round: "private-1", State: round.StateQueued, Key: judge.PrivateKey("agent-1")})
	_, err := l.Update(t.Context(), "s1", func(u *round.Submission) error {
		u.State, u.Report = round.StateJudged, &round.Report{Status: round.StatusOK, PassRate: 0.5, Valid: true}
		return nil
	})
	if lines := linesOf(t, s, "run.r", "submission"); err != nil || len(lines) != 0 {
		t.Errorf("%v: %v", lines, err)
	}
	status, err := trialview.New(trialview.Options{Store: s}).Status(t.Context(), id)
	if err != nil || len(status.Rounds) != 0 || len(status.Private) != 1 || len(status.Judgings()) != 1 {
		t.Errorf("a host sees %+v, %v", status, err)
	}
	stored, err := l.Submission(t.Context(), "s1")
	if err != nil || stored.State != round.StateJudged || stored.Report.PassRate != 0.5 {
		t.Errorf("stored is %+v, %v", stored, err)
	}
}

// TestPrivateRoundsAreInNoSummary, neither as a rate nor in a curve.
func TestPrivateRoundsAreInNoSummary(t *testing.T) {
	of := func(kind round.Kind, rate float64) round.Submission {
		return round.Submission{Kind: kind, State: round.StateJudged, AcceptedAt: noon, Report: &round.Report{Status: round.StatusOK, Valid: true, PassRate: rate}}
	}
	o := summary.Outcome{Task: "a", Agent: "x", Timeout: 60, Started: noon, Rounds: []round.Submission{of(round.KindAgent, 0.25), of(round.KindPrivate, 1)}}
	o.Finished = trial.Finished{Status: trial.Unresolved, Best: &trial.Best{PassRate: 0.25}}
	sum := summary.Summarize([]*summary.Outcome{&o})
	if sum.PassRate.Value != 0.25 || *sum.ScoreByTime[5].PassRate != 0.25 {
		t.Errorf("%+v, %+v", sum.PassRate, sum.ScoreByTime)
	}
}

// runOf is run.r over a task whose solution is a script, with an oracle where solves is set.
func runOf(solves bool, agents ...string) string {
	text := strings.Replace(spec(agents...), "instruction =", "solution { script = \"true\" }\n    instruction =", 1)
	if solves {
		text = strings.Replace(text, " parallel = 4\n", " parallel = 4\n agent \"oracle\" { label = \"o\" }\n", 1)
	}
	return text
}

// rates are "label passed/total source" of each trial of run.r, by label.
func (h *fixture) rates() (all []string) {
	h.t.Helper()
	source := map[string]string{}
	for _, line := range linesOf(h.t, h.store, "run.r", "trial.started") {
		manifest := line["manifest"].(map[string]any)
		source[line["trial"].(string)] = fmt.Sprintf("%s %s %v", line["agent"], manifest["source"], manifest["tests"])
	}
	for _, line := range linesOf(h.t, h.store, "run.r", "submission") {
		all = append(all, fmt.Sprintf("%s: %v of %v", source[line["trial"].(string)], line["passed"], line["total_tests"]))
	}
	slices.Sort(all)
	return all
}

// TestADenominatorDoesNotDependOnWhatRanBefore: an agent that shows ten of twelve tests has
// nine of twelve, be an oracle before it, after it, or nowhere. The solution is judged once
// for all of them, and once more for the oracle's own trial.
func TestADenominatorDoesNotDependOnWhatRanBefore(t *testing.T) {
	for name, specs := range map[string][]string{
		"the agent first":  {runOf(false, "a"), runOf(true, "a")},
		"the oracle first": {runOf(true), runOf(true, "a")},
		"at once":          {runOf(true, "a")},
		"two of them":      {runOf(true, "a", "b")},
	} {
		t.Run(name, func(t *testing.T) {
			h := newFixture(t)
			h.script = "tests:ABCDEFGHIJKL"
			h.answers = map[string]string{"a": "tests:ABCDEFGHIj", "b": "tests:ABCDEFGHIJ", "o": h.script}
			close(h.let)
			d := h.start()
			want := []string{"a reference 12: 9 of 12", "o none 0: 12 of 12"}
			for _, text := range specs {
				h.write("a.hcl", text)
				d.look(t)
				d.untilState(t, "finished")
				if strings.Contains(text, `"b"`) {
					want = slices.Insert(want, 1, "b reference 12: 10 of 12")
				}
			}
			d.until(t, "wholly finished", func(r query.RunStatus) bool { return r.State == "finished" && len(r.Trials) == len(want) })
			if diff := cmp.Diff(want, h.rates()); diff != "" {
				t.Error(diff)
			}
			if n := h.solved.Load(); n != 1 {
				t.Errorf("the solution ran %d times", n)
			}
		})
	}
}

// TestAReferenceRunSurvivesACrash: it is repeated where a daemon died before its verdict was
// stored, and never afterwards.
func TestAReferenceRunSurvivesACrash(t *testing.T) {
	h := newFixture(t)
	h.script = "tests:ABC"
	h.answers = map[string]string{"a": "tests:AB", "b": "tests:A"}
	close(h.let)
	started, hold := make(chan struct{}), make(chan struct{})
	var once sync.Once
	h.fake.Intercept(func(call, _ string) error {
		if call == "CopyTo" {
			once.Do(func() { close(started); <-hold })
		}
		return nil
	})
	h.write("a.hcl", runOf(false, "a"))
	d := h.start()
	d.look(t)
	<-started
	go d.stop()
	close(hold)
	d.stop()
	d = h.start()
	d.look(t)
	d.untilState(t, "finished")
	d.stop()
	ran := h.solved.Load()
	h.write("a.hcl", runOf(false, "a", "b"))
	d = h.start()
	d.look(t)
	d.until(t, "finished with both", func(r query.RunStatus) bool { return r.State == "finished" && len(r.Trials) == 2 })
	if diff := cmp.Diff([]string{"a reference 3: 2 of 3", "b reference 3: 1 of 3"}, h.rates()); diff != "" || h.solved.Load() != ran || ran < 1 {
		t.Errorf("the solution ran %d times, and %d before: %s", h.solved.Load(), ran, diff)
	}
}

// TestAnExecutionKeepsItsReference when the solution is edited while it is open; the next one
// has the new one.
func TestAnExecutionKeepsItsReference(t *testing.T) {
	h := newFixture(t)
	h.script = "tests:ABC"
	h.answers = map[string]string{"a": "tests:A", "b": "tests:A"}
	close(h.let)
	h.write("a.hcl", runOf(false, "a"))
	d := h.start()
	d.look(t)
	d.untilState(t, "finished")
	d.stop()
	h.script = "tests:AB"
	h.write("a.hcl", strings.Replace(runOf(false, "a", "b"), `script = "true"`, `script = "other"`, 1))
	d = h.start()
	d.look(t)
	d.until(t, "finished with both", func(r query.RunStatus) bool { return r.State == "finished" && len(r.Trials) == 2 })
	if diff := cmp.Diff([]string{"a reference 3: 1 of 3", "b reference 3: 1 of 3"}, h.rates()); diff != "" {
		t.Error(diff)
	}
	_, err := d.Rerun(t.Context(), "run.r")
	check(t, err)
	d.until(t, "finished again", func(r query.RunStatus) bool { return r.State == "finished" && r.Execution == 2 && len(r.Trials) == 2 })
	if diff := cmp.Diff([]string{"a reference 2: 1 of 2", "a reference 3: 1 of 3", "b reference 2: 1 of 2", "b reference 3: 1 of 3"}, h.rates()); diff != "" {
		t.Error(diff)
	}
}

// TestWithoutAManifestNothingIsPooled: a task that says nothing of its tests and has no
// solution has no fixed number of them.
func TestWithoutAManifestNothingIsPooled(t *testing.T) {
	for name, tt := range map[string]struct {
		text   string
		pooled bool
	}{
		"no solution":      {spec("a"), false},
		"a bad solution":   {runOf(false, "a"), false},
		"a declared list":  {strings.Replace(spec("a"), "parser  =", "expect = [\"A\", \"B\"]\n      parser  =", 1), true},
		"one exit code":    {strings.Replace(spec("a"), `"pytest"`, `"exit_code"`, 1), true},
		"a grader's count": {strings.Replace(spec("a"), `"pytest"`, `"structured_json"`, 1), true},
	} {
		t.Run(name, func(t *testing.T) {
			h := newFixture(t)
			h.script = "tests:a"
			h.answers = map[string]string{"a": "tests:Ab"}
			close(h.let)
			// Of two runs, because a control's rates are its own.
			h.write("a.hcl", strings.Replace(tt.text, `agent "nop" { label = "a" }`, `agent "mine" { label = "a" }`, 1)+mine)
			d := h.start()
			d.look(t)
			d.untilState(t, "finished")
			for _, line := range linesOf(t, h.store, "run.r", "trial.finished") {
				if flagged := slices.Contains(line["flags"].([]any), any("no_manifest")); flagged == tt.pooled {
					t.Errorf("flags are %v", line["flags"])
				}
			}
			report, err := d.Summaries.Report(t.Context(), "run.r")
			if err != nil {
				t.Fatal(err)
			}
			s, task := report.Summary, report.Agents[0].Tasks[0]
			if (s.PassRate != nil) != tt.pooled || (task.PassRate != nil) != tt.pooled || (s.NoManifest == 0) != tt.pooled || task.NoManifest == tt.pooled {
				t.Errorf("%+v, %+v", s, task)
			}
			if s.ResolvedRate == nil || (s.ScoreByTime[5].PassRate != nil) != tt.pooled {
				t.Errorf("%+v", s)
			}
		})
	}
}

// mine is an agent that is no control.
const mine = `
agent "mine" {
  command = "work"
  api     = "none"
}
`
