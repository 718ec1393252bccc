package reconcile

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/assayd/assayd/reconcile/history"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/reconcile/summary"
	"github.com/assayd/assayd/runtime/agent"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/task"
	"github.com/assayd/assayd/runtime/trial"
)

var nearly = cmpopts.EquateApprox(0, 5e-5)

// roundAfter is one judged round of an outcome, so long after its start.
func roundAfter(after time.Duration, rate float64, score *float64) round.Submission {
	return round.Submission{
		State: round.StateJudged, AcceptedAt: noon.Add(after),
		Report: &round.Report{Status: round.StatusOK, Valid: true, PassRate: rate, Score: score, JudgeMS: 1500},
	}
}

// past is a state directory with runs that are over, and who answers questions about it.
type past struct {
	*Reconciler
	t     *testing.T
	store *store.Store
	n     int
}

func newPast(t *testing.T) *past {
	t.Helper()
	s, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "s"), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	p := &past{t: t, store: s, Reconciler: New(Options{Store: s, Log: log, Host: trial.Host{StateDir: s.Dir(), Log: log}, Idle: true})}
	ctx, stop := context.WithCancel(context.Background())
	finished := make(chan error, 1)
	go func() { finished <- p.Run(ctx, nil) }()
	t.Cleanup(func() {
		stop()
		if err := errors.Join(<-finished, s.Close()); err != nil {
			t.Error(err)
		}
	})
	return p
}

// did puts a trial in; change makes it what the test needs.
func (p *past) did(run string, execution int, task, agentName string, status trial.Status, change func(*trial.State), rounds ...round.Submission) {
	p.t.Helper()
	p.n++
	s := trial.State{
		Spec: run, Execution: execution, Key: fmt.Sprintf("%08x%056x", p.n, p.n), Try: 1, Phase: trial.Done, StartedAt: noon,
		Result: &trial.Finished{Status: status, Flags: []string{}},
	}
	s.Cell = trial.Cell{Agent: agent.Agent{Name: agentName}, Attempt: 1, Timeout: time.Hour}
	s.Cell.Task.Name, s.Cell.Task.Judge.Select = task, "pass_rate_first"
	if change != nil {
		change(&s)
	}
	s.ID = trial.ID(strings.TrimPrefix(run, "run."), execution, s.Key)
	row := store.TrialRow{ID: s.ID, Spec: run, Execution: execution, Cell: s.Key, Try: 1, Phase: string(s.Phase), Wanted: !s.Unwanted}
	if s.Result != nil {
		row.Status = string(s.Result.Status)
	}
	var err error
	if row.Data, err = json.Marshal(s); err != nil {
		p.t.Fatal(err)
	}
	err = p.store.Do(p.t.Context(), func(tx *store.Tx) error {
		e := store.ExecutionRow{Spec: run, N: execution, Trigger: "accepted", StartedAt: noon}
		return errors.Join(tx.PutExecution(e), history.PutTrial(tx, row, s))
	})
	if err != nil {
		p.t.Fatal(err)
	}
	ledger := history.NewLedger(p.store)
	for _, sub := range rounds {
		p.n++
		sub.ID, sub.Trial, sub.Try, sub.Kind, sub.Round = fmt.Sprintf("%016x", p.n), s.ID, 1, round.KindAgent, fmt.Sprint("agent-", p.n)
		reserved := sub
		reserved.State, reserved.Report = round.StateReserved, nil
		_, err := ledger.Reserve(p.t.Context(), s.ID, func([]round.Submission) (round.Submission, error) { return reserved, nil })
		if err == nil {
			_, err = ledger.Update(p.t.Context(), sub.ID, func(u *round.Submission) error { *u = sub; return nil })
		}
		if err != nil {
			p.t.Fatal(err)
		}
	}
}

// best makes what a round has come to the trial's.
func best(rate float64) func(*trial.State) {
	return func(s *trial.State) { s.Result.Best = &trial.Best{PassRate: rate} }
}

func TestAReportIsOfOneExecution(t *testing.T) {
	p := newPast(t)
	p.did("run.r", 1, "a", "x", trial.Unresolved, best(0.25))
	p.did("run.r", 1, "b", "x", trial.Cancelled, func(s *trial.State) { s.Unwanted = true })
	p.did("run.r", 2, "a", "x", trial.Resolved, best(1), roundAfter(time.Minute, 0.5, nil), roundAfter(2*time.Minute, 1, nil))
	p.did("run.r", 2, "b", "x", trial.InfraError, nil)
	p.did("run.r", 2, "c", "x", "", func(s *trial.State) { s.Phase, s.Result = trial.Running, nil })
	for name, want := range map[string]struct{ n, total, open, resolved int }{
		"run.r": {2, 2, 1, 1}, "run.r.e2": {2, 2, 1, 1}, "run.r.e1": {1, 1, 0, 0},
	} {
		r, err := p.Summaries.Report(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		if r.Run != "run.r" || r.Execution != want.n || r.Summary.Total != want.total || r.Open != want.open || r.Summary.Resolved != want.resolved {
			t.Errorf("%s: %+v", name, r)
		}
	}
	r, _ := p.Summaries.Report(t.Context(), "run.r")
	a := r.Agents[0]
	if len(r.Agents) != 1 || a.Agent != "x" || len(a.Tasks) != 2 {
		t.Fatalf("%+v", r.Agents)
	}
	if b := a.Tasks[1]; b.Task != "b" || b.InfraError != 1 || b.PassRate != nil {
		t.Errorf("a task where nothing counts: %+v", b)
	}
	for _, name := range []string{"run.q", "run.r.e3", "run.r.e0", "r", "run.r.e99999999999"} {
		if _, err := p.Summaries.Report(t.Context(), name); !errors.Is(err, history.ErrUnknown) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestACurveEndsWhereTheScoresAre(t *testing.T) {
	p := newPast(t)
	p.did("run.r", 1, "a", "x", trial.Unresolved, best(0.5), roundAfter(10*time.Minute, 0.5, new(3.0)))
	p.did("run.r", 1, "b", "x", trial.Resolved, best(1), roundAfter(5*time.Minute, 0.5, nil), roundAfter(20*time.Minute, 1, new(9.0)))
	p.did("run.r", 1, "c", "x", trial.InfraError, nil, roundAfter(50*time.Minute, 1, new(100.0)))
	r, err := p.Summaries.Report(t.Context(), "run.r")
	if err != nil {
		t.Fatal(err)
	}
	curve := r.Agents[0].Curve
	first, last := curve[0], curve[len(curve)-1]
	if first.ElapsedS != 0 || first.PassRate.Value != 0 || first.Score != nil || last.ElapsedS != 1200 {
		t.Errorf("from %+v to %+v", first, last)
	}
	if last.PassRate.Value != 0.75 || last.PassRate.N != 2 || last.Score == nil || last.Score.Value != 6 {
		t.Errorf("at the end %+v, %+v", last.PassRate, last.Score)
	}
	for i, point := range curve[1:] {
		if point.PassRate.Value < curve[i].PassRate.Value || point.ElapsedS <= curve[i].ElapsedS {
			t.Errorf("%+v after %+v", point, curve[i])
		}
		if (point.Score != nil) != (point.ElapsedS >= 1200) {
			t.Errorf("at %v s, when not all have a score: %+v", point.ElapsedS, point.Score)
		}
	}
}

func TestRunsAreComparedByTask(t *testing.T) {
	p := newPast(t)
	for i, rates := range [][2]float64{{0, 1}, {0.5, 1}, {0.25, 0.5}, {1, 0.75}, {1, 1}} {
		for side, run := range []string{"run.a", "run.b"} {
			status := trial.Unresolved
			if rates[side] == 1 {
				status = trial.Resolved
			}
			p.did(run, 1, fmt.Sprint("t", i), "x", status, best(rates[side]))
		}
	}
	p.did("run.a", 1, "spoilt", "x", trial.Resolved, best(1))
	p.did("run.b", 1, "spoilt", "x", trial.InfraError, nil)
	p.did("run.b", 1, "new", "x", trial.Resolved, best(1))
	p.did("run.a", 1, "edited", "x", trial.Resolved, best(1))
	p.did("run.b", 1, "edited", "x", trial.Resolved, func(s *trial.State) {
		best(1)(s)
		s.Cell.Task.Judge.Command = task.Command{Shell: "true"}
		s.Cell.Task.Title = "titles do not count"
	})
	p.did("run.a", 1, "solved", "x", trial.Resolved, func(s *trial.State) {
		best(1)(s)
		s.Cell.Task.Solution = &task.Solution{Script: "the oracle's alone"}
	})
	p.did("run.b", 1, "solved", "x", trial.Resolved, best(1))
	compared, err := p.Summaries.Compare(t.Context(), "run.a", "run.b.e1", nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(compared.Comparisons) != 1 {
		t.Fatalf("%+v", compared.Comparisons)
	}
	c := compared.Comparisons[0]
	if !slices.Equal(c.OnlyA, []string{"spoilt"}) || !slices.Equal(c.OnlyB, []string{"new"}) || !slices.Equal(c.Changed, []string{"edited"}) {
		t.Errorf("only %q, only %q, changed %q", c.OnlyA, c.OnlyB, c.Changed)
	}
	if c.B.InfraError != 1 || c.B.Total != 9 || len(c.Tasks) != 7 {
		t.Errorf("%+v, %d tasks", c.B, len(c.Tasks))
	}
	type tally struct{ a, b, difference, won, lost, tied float64 }
	for name, x := range map[string]struct {
		*summary.Paired
		tally
	}{
		"resolved":  {c.Resolved, tally{4. / 7, 5. / 7, 1. / 7, 2, 1, 4}},
		"pass rate": {c.PassRate, tally{4.75 / 7, 6.25 / 7, 1.5 / 7, 3, 1, 3}},
	} {
		got := tally{x.A, x.B, x.Difference.Value, float64(x.Won), float64(x.Lost), float64(x.Tied)}
		if diff := cmp.Diff(x.tally, got, cmp.AllowUnexported(tally{}), nearly); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	if c.Resolved.SignP != 1 || c.Score != nil || c.Score100 != nil {
		t.Errorf("p %v, %+v, %+v", c.Resolved.SignP, c.Score, c.Score100)
	}
}

// Of golf scores less is better, and of a mixture there is no mean.
func TestScoresAreComparedAsTheTaskMeansThem(t *testing.T) {
	scored := func(score float64, direction string) func(*trial.State) {
		return func(s *trial.State) {
			s.Result.Best = &trial.Best{Score: &score}
			s.Cell.Task.Judge.Direction = direction
		}
	}
	p := newPast(t)
	for i, scores := range [][2]float64{{72, 70}, {80, 72}, {90, 95}} {
		p.did("run.a", 1, fmt.Sprint(i), "x", trial.Unresolved, scored(scores[0], "minimize"))
		p.did("run.b", 1, fmt.Sprint(i), "x", trial.Unresolved, scored(scores[1], "minimize"))
	}
	c, err := p.Summaries.Compare(t.Context(), "run.a", "run.b", nil)
	if err != nil {
		t.Fatal(err)
	}
	s := c.Comparisons[0].Score
	if s == nil || s.Won != 2 || s.Lost != 1 || s.Difference.Value >= 0 || s.Difference.Low > s.Difference.Value || s.Difference.Value > s.Difference.High {
		t.Errorf("%+v", s)
	}
	p.did("run.a", 1, "ball", "x", trial.Unresolved, scored(3, "maximize"))
	if c, err = p.Summaries.Compare(t.Context(), "run.a", "run.b", nil); err != nil || c.Comparisons[0].Score != nil {
		t.Errorf("of a mixture: %+v, %v", c.Comparisons, err)
	}
}

func TestAgentsThatAreCompared(t *testing.T) {
	p := newPast(t)
	for run, agents := range map[string][]string{"run.a": {"x", "y"}, "run.b": {"y", "x", "z"}, "run.one": {"z"}, "run.other": {"w"}} {
		for _, a := range agents {
			p.did(run, 1, "t", a, trial.Resolved, best(1))
		}
	}
	for _, tc := range []struct {
		a, b   string
		agents []string
		want   []string
	}{
		{"run.a", "run.b", nil, []string{"x-x", "y-y"}},
		{"run.one", "run.other", nil, []string{"z-w"}},
		{"run.a", "run.b", []string{"x"}, []string{"x-x"}},
		{"run.a", "run.b", []string{"x", "z"}, []string{"x-z"}},
		{"run.a", "run.a", []string{"x", "y"}, []string{"x-y"}},
		{"run.a", "run.other", nil, nil},
		{"run.a", "run.b", []string{"z"}, nil},
		{"run.a", "run.b", []string{"x", "y", "z"}, nil},
	} {
		c, err := p.Summaries.Compare(t.Context(), tc.a, tc.b, tc.agents)
		var got []string
		for _, one := range c.Comparisons {
			got = append(got, one.A.Agent+"-"+one.B.Agent)
		}
		if !slices.Equal(got, tc.want) || errors.Is(err, summary.ErrPairs) != (tc.want == nil) {
			t.Errorf("%s %s %q: %q, %v; want %q", tc.a, tc.b, tc.agents, got, err, tc.want)
		}
	}
	if _, err := p.Summaries.Compare(t.Context(), "run.a", "run.nothing", nil); !errors.Is(err, history.ErrUnknown) {
		t.Error(err)
	}
}
