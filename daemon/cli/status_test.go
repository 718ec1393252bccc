package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/assayd/assayd/reconcile"
	"github.com/assayd/assayd/runtime/judge"
	"github.com/assayd/assayd/runtime/trial"
)

// played is a game's round: a peak, and how it stands.
func played(state judge.State, peak float64) reconcile.Round {
	return reconcile.Round{ID: "0123", Round: "game-1", State: state, Report: &judge.Report{
		Status: judge.StatusOK, Valid: true, Score: &peak, Metrics: map[string]float64{"max_score": 350, "moves": 12},
	}}
}

// What a game has reached so far is no result of it.
func TestAGameIsToldOfWhenItIsOver(t *testing.T) {
	var b bytes.Buffer
	p := progress{e: &env{err: &b}, seen: map[string]bool{}}
	for _, r := range []reconcile.Round{played(judge.StateRunning, 0), played(judge.StateRunning, 1), played(judge.StateJudged, 2)} {
		p.events(reconcile.TrialStatus{ID: "g.e1.01234567", Rounds: []reconcile.Round{r}})
	}
	if got, want := b.String(), "g.e1.01234567: game-1 score 2\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestRoundsWithoutTestsShowTheirScores(t *testing.T) {
	third := 1. / 3
	var b bytes.Buffer
	if err := showRounds(&b, []reconcile.Round{
		played(judge.StateRunning, 7),
		played(judge.StateJudged, 10),
		{Round: "agent-1", State: judge.StateJudged, Report: &judge.Report{Status: judge.StatusOK, Score: &third}},
		{Round: "agent-2", State: judge.StateJudged, Report: &judge.Report{Status: judge.StatusOK, Passed: 1, TotalTests: 2}},
		{Round: "agent-3", State: judge.StateQueued},
	}); err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(b.String()) {
		got = append(got, strings.Join(strings.Fields(line), " "))
	}
	for i, want := range []string{
		"ROUND AT STATUS PASSED SCORE JUDGED IN SUBMISSION",
		"game-1 0s running - 7 of 350, 12 moves - 0123",
		"game-1 0s ok - 10 of 350, 12 moves 0 ms 0123",
		"agent-1 0s ok - 0.333333 0 ms",
		"agent-2 0s ok 1/2 - 0 ms",
		"agent-3 0s queued - - -",
	} {
		if got[i] != want {
			t.Errorf("%q, want %q", got[i], want)
		}
	}
}

func TestNumbersForPeople(t *testing.T) {
	for x, want := range map[float64]string{
		1. / 3: "0.333333", 2: "2", 1234567: "1234567", 0: "0", -0.5: "-0.5", 1234.56789: "1234.57", 1e300: "1e+300", 1e-9: "1e-09",
	} {
		if got := shown(x); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if got := printable("a\x1b[2J\tb\nc"); got != "a[2Jb" {
		t.Errorf("%q", got)
	}
}

// How to do it again is told where nothing was done.
func TestOnlyWhatWasDoneBeforeIsDoneAlready(t *testing.T) {
	now := time.Now()
	over := func(at time.Time) reconcile.TrialStatus {
		return reconcile.TrialStatus{Status: trial.Resolved, Ended: at}
	}
	run := func(state string, wanted int, trials ...reconcile.TrialStatus) reconcile.RunStatus {
		return reconcile.RunStatus{Address: "run.r", State: state, Wanted: wanted, Trials: trials}
	}
	mining := func(state string) []reconcile.MiningStatus {
		return []reconcile.MiningStatus{{Address: "mining.m", State: state}}
	}
	before, after := over(now.Add(-time.Minute)), over(now.Add(time.Second))
	for name, tc := range map[string]struct {
		runs   []reconcile.RunStatus
		mined  []reconcile.MiningStatus // at the first look
		mining []reconcile.MiningStatus // now
		want   string
	}{
		"all before":      {[]reconcile.RunStatus{run("finished", 1, before)}, nil, nil, "run.r"},
		"one now":         {[]reconcile.RunStatus{run("finished", 1, before), run("finished", 1, after)}, nil, nil, ""},
		"one never began": {[]reconcile.RunStatus{run("finished", 2, before)}, nil, nil, ""},
		"blocked":         {[]reconcile.RunStatus{run("blocked", 1, before)}, nil, nil, ""},
		"nothing":         {nil, nil, nil, ""},

		"mining before":             {nil, mining("finished"), mining("finished"), "mining.m"},
		"mining and a run over it":  {[]reconcile.RunStatus{run("finished", 1, before)}, mining("finished"), mining("finished"), "mining.m"},
		"a run over it now":         {[]reconcile.RunStatus{run("finished", 1, after)}, mining("finished"), mining("finished"), ""},
		"mining now":                {nil, mining("running"), mining("finished"), ""},
		"mining now without a task": {[]reconcile.RunStatus{run("finished", 1, before)}, mining("waiting"), mining("finished"), ""},
	} {
		if got := doneBefore(followed{minings: tc.mined}, followed{runs: tc.runs, minings: tc.mining}, now); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}
