package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile/query"
	"github.com/assayd/assayd/reconcile/query/trialview"
	"github.com/assayd/assayd/runtime/gateway"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/trial"
)

// played is a game's round: a peak, and how it stands.
func played(state round.State, peak float64) trialview.Round {
	return trialview.Round{ID: "0123", Round: "game-1", State: state, Report: &round.Report{
		Status: round.StatusOK, Valid: true, Score: &peak, Metrics: map[string]float64{"max_score": 350, "moves": 12},
	}}
}

// What a game has reached so far is no result of it.
func TestAGameIsToldOfWhenItIsOver(t *testing.T) {
	var b bytes.Buffer
	p := progress{e: &env{err: &b}, seen: map[string]bool{}}
	for _, r := range []trialview.Round{played(round.StateRunning, 0), played(round.StateRunning, 1), played(round.StateJudged, 2)} {
		p.events(trialview.TrialStatus{ID: "g.e1.01234567", Rounds: []trialview.Round{r}})
	}
	if got, want := b.String(), "g.e1.01234567: game-1 score 2\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestRoundsWithoutTestsShowTheirScores(t *testing.T) {
	third := 1. / 3
	var b bytes.Buffer
	if err := showRounds(&b, []trialview.Round{
		played(round.StateRunning, 7),
		played(round.StateJudged, 10),
		{Round: "agent-1", State: round.StateJudged, Report: &round.Report{Status: round.StatusOK, Score: &third}},
		{Round: "agent-2", State: round.StateJudged, Report: &round.Report{Status: round.StatusOK, Passed: 1, TotalTests: 2}},
		{Round: "agent-3", State: round.StateQueued},
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

// Budgets and clocks are where a run is looked at: of each trial, and of the run.
func TestStatusTellsBudgetsAndClocks(t *testing.T) {
	noon := time.Date(2030, 1, 2, 12, 0, 0, 0, time.UTC)
	usage := func(tokens int64, usd float64) *gateway.Usage {
		return &gateway.Usage{InputTokens: tokens - 5, OutputTokens: 5, CostUSD: usd}
	}
	trials := []trialview.TrialStatus{
		{ID: "r.e1.0", Phase: trial.Pending},
		{ID: "r.e1.1", Phase: trial.Running, Started: noon.Add(-90 * time.Second), Deadline: noon.Add(time.Hour), Usage: usage(1200, 0)},
		{
			ID: "r.e1.2", Phase: trial.Running, Started: noon.Add(-time.Hour), Deadline: noon, Now: noon.Add(-30 * time.Minute), // the wall clock was set
			Usage: usage(12_000, 0.25), Budget: &gateway.Budget{Tokens: 50_000},
		},
		{
			ID: "r.e1.3", Phase: trial.Grading, Started: noon.Add(-2 * time.Hour), Deadline: noon.Add(-time.Minute),
			Usage: usage(3_400_000, 1), Budget: &gateway.Budget{USD: 2.5},
		},
		{
			ID: "r.e1.4", Phase: trial.Done, Status: trial.Unresolved, Reason: gateway.OverUSD, Started: noon.Add(-time.Hour), Deadline: noon.Add(time.Hour),
			Ended: noon.Add(-20 * time.Minute), Usage: usage(2_000_000, 2.6), Budget: &gateway.Budget{USD: 2.5, Tokens: 4_000_000},
		},
	}
	for i := range trials {
		trials[i].Task, trials[i].Agent, trials[i].Wanted = "t", "a", true
	}
	for _, tt := range []struct {
		name string
		run  query.RunStatus
		want string
	}{
		{
			name: "with budgets",
			run:  query.RunStatus{Trials: trials, Usage: usage(5_413_200, 3.85), Budget: &gateway.Budget{USD: 10, Tokens: 20_000_000}},
			want: `run.r e1: running
  TRIAL   TASK  AGENT  STATE                    ROUNDS  BEST  PASSED  TIME                SPENT
  r.e1.0  t     a      pending                  0       -     -       -                   -
  r.e1.1  t     a      running                  0       -     -       1m30s, 1h0m0s left  1.2 k tokens
  r.e1.2  t     a      running                  0       -     -       30m0s, 30m0s left   12 k of 50 k tokens, 0.25 USD
  r.e1.3  t     a      grading                  0       -     -       2h0m0s, 0s left     3.4 M tokens, 1.00 of 2.50 USD
  r.e1.4  t     a      unresolved (budget_usd)  0       -     -       40m0s               2 M of 4 M tokens, 2.60 of 2.50 USD
  models: 5.4 M of 20 M tokens, 3.85 of 10.00 USD
`,
		},
		{
			name: "without one",
			run:  query.RunStatus{Trials: trials[1:2], Usage: usage(1200, 0)},
			want: `run.r e1: running
  TRIAL   TASK  AGENT  STATE    ROUNDS  BEST  PASSED  TIME                SPENT
  r.e1.1  t     a      running  0       -     -       1m30s, 1h0m0s left  1.2 k tokens
  models: 1.2 k tokens
`,
		},
		{
			name: "without models",
			run:  query.RunStatus{Trials: trials[:1]},
			want: `run.r e1: running
  TRIAL   TASK  AGENT  STATE    ROUNDS  BEST  PASSED  TIME
  r.e1.0  t     a      pending  0       -     -       -
`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.run.Address, tt.run.Execution, tt.run.State = "run.r", 1, "running"
			var b bytes.Buffer
			if err := showStatus(&b, query.Status{Time: noon, Runs: []query.RunStatus{tt.run}}, true); err != nil {
				t.Fatal(err)
			}
			var got strings.Builder
			for line := range strings.Lines(b.String()) {
				got.WriteString(strings.TrimRight(line, " \n") + "\n")
			}
			if diff := cmp.Diff(tt.want, got.String()); diff != "" {
				t.Error(diff)
			}
		})
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
	over := func(at time.Time) trialview.TrialStatus {
		return trialview.TrialStatus{Status: trial.Resolved, Ended: at}
	}
	run := func(state string, wanted int, trials ...trialview.TrialStatus) query.RunStatus {
		return query.RunStatus{Address: "run.r", State: state, Wanted: wanted, Trials: trials}
	}
	mining := func(state string) []query.MiningStatus {
		return []query.MiningStatus{{Address: "mining.m", State: state}}
	}
	before, after := over(now.Add(-time.Minute)), over(now.Add(time.Second))
	again := trialview.TrialStatus{Status: trial.SetupError} // before any agent started
	for name, tc := range map[string]struct {
		runs   []query.RunStatus
		mined  []query.MiningStatus // at the first look
		mining []query.MiningStatus // now
		want   string
	}{
		"all before":      {[]query.RunStatus{run("finished", 1, before)}, nil, nil, "run.r"},
		"one now":         {[]query.RunStatus{run("finished", 1, before), run("finished", 1, after)}, nil, nil, ""},
		"one never began": {[]query.RunStatus{run("finished", 2, before)}, nil, nil, ""},
		"tried again":     {[]query.RunStatus{run("finished", 1, again)}, nil, nil, ""},
		"blocked":         {[]query.RunStatus{run("blocked", 1, before)}, nil, nil, ""},
		"nothing":         {nil, nil, nil, ""},

		"mining before":             {nil, mining("finished"), mining("finished"), "mining.m"},
		"mining and a run over it":  {[]query.RunStatus{run("finished", 1, before)}, mining("finished"), mining("finished"), "mining.m"},
		"a run over it now":         {[]query.RunStatus{run("finished", 1, after)}, mining("finished"), mining("finished"), ""},
		"mining now":                {nil, mining("running"), mining("finished"), ""},
		"mining now without a task": {[]query.RunStatus{run("finished", 1, before)}, mining("waiting"), mining("finished"), ""},
	} {
		if got := doneBefore(followed{minings: tc.mined}, followed{runs: tc.runs, minings: tc.mining}, now); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// Scores are what judges print: none of them fills the screen, and none that is not 0 looks like it.
func TestADecimalHasAWidth(t *testing.T) {
	for v, want := range map[float64]string{0: "0.00", 0.5: "0.50", -12.345: "-12.35", 123456: "123456.00", 1e100: "1e+100", -1e308: "-1e+308", 5e-324: "4.94e-324", 0.001: "0.00"} {
		if got := decimal(v); got != want {
			t.Errorf("%g is shown as %q, want %q", v, got, want)
		}
	}
}

func TestTheOverviewOnATerminal(t *testing.T) {
	var b strings.Builder
	err := showOverview(&b, query.Overview{
		Runs: []query.RunInfo{
			{Address: "run.nightly", State: "running", Execution: 3, Wanted: 20, Cells: map[string]int{"resolved": 4, "unresolved": 1, "working": 2, "waiting": 13, "superseded": 7}, Note: "24 of 32 CPUs are taken"},
			{Address: "run.new", State: "waiting", Wanted: 2},
		},
		Minings: []query.MiningInfo{{Address: "mining.go", State: "running", Note: "GitHub"}}, Files: map[config.Status]int{config.OK: 3, config.Frozen: 1},
		Diagnostics: config.Diagnostics{{Severity: config.Error, Summary: "No such benchmark", File: "a.hcl", Line: 3, Column: 2}}, Waits: []string{"room on the disk"},
	}, time.Date(2030, 5, 1, 12, 0, 0, 0, time.UTC))
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"waits for room on the disk", "run.nightly e3", "5/20", "2 working, 13 waiting", "24 of 32 CPUs", "run.new", "0/2", "mining.go", "GitHub", "specs: 3 ok, 1 frozen", "error: a.hcl:3:2: No such benchmark"} {
		if !strings.Contains(b.String(), part) {
			t.Errorf("it lacks %q:\n%s", part, b.String())
		}
	}
}
