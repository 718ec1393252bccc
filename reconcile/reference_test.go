package reconcile

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/agent"
	"github.com/assayd/assayd/runtime/judge"
	"github.com/assayd/assayd/runtime/judge/parser"
	"github.com/assayd/assayd/runtime/trial"
)

// TestAPrivateVerdictIsNoRecord: the trial's own verdict tells of it.
func TestAPrivateVerdictIsNoRecord(t *testing.T) {
	s, id := openStore(t)
	l := NewLedger(s)
	reserve(t, l, judge.Submission{ID: "s1", Trial: id, Try: 1, Kind: judge.KindPrivate, Number: 1, Round: "private-1", State: judge.StateQueued, Key: judge.PrivateKey("agent-1")})
	_, err := l.Update(t.Context(), "s1", func(u *judge.Submission) error {
		u.State, u.Report = judge.StateJudged, &judge.Report{Status: judge.StatusOK, PassRate: 0.5, Valid: true}
		return nil
	})
	if lines := linesOf(t, s, "run.r", "submission"); err != nil || len(lines) != 0 {
		t.Errorf("%v: %v", lines, err)
	}
	var status TrialStatus
	err = s.View(t.Context(), func(tx *store.Tx) (err error) {
		status, err = trialStatus(tx, trial.State{ID: id})
		return err
	})
	if err != nil || len(status.Rounds) != 0 || len(status.Private) != 1 || len(status.Judgings()) != 1 {
		t.Errorf("a host sees %+v, %v", status, err)
	}
	stored, err := l.Submission(t.Context(), "s1")
	if err != nil || stored.State != judge.StateJudged || stored.Report.PassRate != 0.5 {
		t.Errorf("stored is %+v, %v", stored, err)
	}
}

// TestPrivateRoundsAreInNoSummary, neither as a rate nor in a curve.
func TestPrivateRoundsAreInNoSummary(t *testing.T) {
	round := func(kind judge.Kind, rate float64) judge.Submission {
		return judge.Submission{Kind: kind, State: judge.StateJudged, AcceptedAt: noon, Report: &judge.Report{Status: judge.StatusOK, Valid: true, PassRate: rate}}
	}
	o := Outcome{Task: "a", Agent: "x", Timeout: 60, Started: noon, Rounds: []judge.Submission{round(judge.KindAgent, 0.25), round(judge.KindPrivate, 1)}}
	o.Finished = trial.Finished{Status: trial.Unresolved, Best: &trial.Best{PassRate: 0.25}}
	sum := Summarize([]Outcome{o})
	if sum.PassRate.Value != 0.25 || sum.ScoreByTime[5].PassRate != 0.25 {
		t.Errorf("%+v, %+v", sum.PassRate, sum.ScoreByTime)
	}
}

// TestReferenceRunsThatDisagreeAreIntersected: what one of them did not show cannot be
// expected of anybody.
func TestReferenceRunsThatDisagreeAreIntersected(t *testing.T) {
	s, id := openStore(t)
	l := NewLedger(s)
	state := trial.State{ID: id, Spec: "run.r", Try: 1}
	state.Cell.Agent.Name, state.Cell.Task.Judge.Parser = agent.Oracle, "pytest"
	for i, tt := range []struct {
		shown, want string
	}{
		{"a b case[1] c", "a b case[1] c"}, {"c case[2] b a", "a b c"}, {"a b c d", "a b c"}, {"x", ""}, {"a", ""},
	} {
		state.Try = i + 1
		state.Result = &trial.Finished{Status: trial.Resolved, Best: &trial.Best{Round: "final-1", PassRate: 1}}
		r := &judge.Report{Status: judge.StatusOK, Valid: true, PassRate: 1}
		for _, name := range strings.Fields(tt.shown) {
			r.Tests = append(r.Tests, parser.Test{Name: name, Status: parser.Passed})
			r.TotalTests++
		}
		reserve(t, l, judge.Submission{ID: "s" + tt.shown, Trial: id, Try: state.Try, Kind: judge.KindFinal, Number: i + 1, Round: "final-1", State: judge.StateJudged, Report: r})
		var known reference
		err := s.Do(t.Context(), func(tx *store.Tx) (err error) {
			if err = keepReference(tx, state); err == nil {
				known, err = readReference(tx, trial.ReferenceKey(state))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(strings.Fields(tt.want), known.Tests); diff != "" || known.Runs != i+1 {
			t.Errorf("after %q in run %d: %s", tt.shown, known.Runs, diff)
		}
	}
}

// TestAnOracleMakesTheManifestOfLaterTrials, and not of itself.
func TestAnOracleMakesTheManifestOfLaterTrials(t *testing.T) {
	h := newHouse(t)
	close(h.let)
	benchmark := strings.Replace(benchmarkSpec, "instruction =", "solution { script = \"true\" }\n    instruction =", 1)
	run := "run \"r\" {\n tasks = [benchmark.edge]\n auto_eval = \"0s\"\n agent \"oracle\" { label = \"o1\" }\n"
	h.write("a.hcl", benchmark+run+"}\n")
	d := h.start()
	d.look(t)
	d.untilState(t, "finished")
	h.write("a.hcl", benchmark+run+" agent \"nop\" { label = \"n\" }\n agent \"oracle\" { label = \"o2\" }\n}\n")
	d.look(t)
	d.untilTrials(t, "n/1 resolved, o1/1 resolved, o2/1 resolved")
	got := map[string]any{}
	for _, line := range linesOf(t, h.store, "run.r", "trial.started") {
		got[line["agent"].(string)] = line["manifest"]
	}
	none := map[string]any{"source": "none", "tests": 0.0}
	want := map[string]any{"o1": none, "o2": none, "n": map[string]any{"source": "reference", "tests": 1.0}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
