package reconcile

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/assayd/assayd/runtime/judge"
	"github.com/assayd/assayd/runtime/trial"
)

var nearly = cmpopts.EquateApprox(0, 5e-5)

// outcome is a trial whose best round has the pass rate.
func outcome(task, agent string, s trial.Status, rate float64) Outcome {
	o := Outcome{Task: task, Agent: agent, Finished: trial.Finished{Status: s}, Timeout: time.Hour, Started: noon}
	if s.Counts() {
		o.Finished.Best = &trial.Best{PassRate: rate}
	}
	return o
}

// round is one judged round of an outcome, so long after its start.
func round(after time.Duration, rate float64, score *float64) judge.Submission {
	return judge.Submission{
		State: judge.StateJudged, AcceptedAt: noon.Add(after),
		Report: &judge.Report{Status: judge.StatusOK, Valid: true, PassRate: rate, Score: score, JudgeMS: 1500},
	}
}

func TestWilson(t *testing.T) {
	for _, tt := range []struct {
		k, n int
		want Interval
	}{ // as in published tables of the interval
		{0, 1, Interval{0, 0, 0.7935, 1}},
		{1, 1, Interval{1, 0.2065, 1, 1}},
		{0, 10, Interval{0, 0, 0.2775, 10}},
		{5, 10, Interval{0.5, 0.2366, 0.7634, 10}},
		{81, 263, Interval{0.30798, 0.2553, 0.3662, 263}},
	} {
		if diff := cmp.Diff(&tt.want, wilson(tt.k, tt.n), nearly); diff != "" {
			t.Errorf("%d of %d: %s", tt.k, tt.n, diff)
		}
	}
}

func TestBootstrap(t *testing.T) {
	if got := bootstrap(nil); got != nil {
		t.Errorf("of nothing: %v", got)
	}
	one := bootstrap([][]float64{{0, 1}})
	if diff := cmp.Diff(&Interval{0.5, 0.5, 0.5, 1}, one); diff != "" {
		t.Errorf("one task has no spread between tasks: %s", diff)
	}
	// Two tasks at 0 and 1: a resample is 0, ½ or 1 with weights ¼, ½, ¼.
	two := bootstrap([][]float64{{0}, {1, 1, 1}})
	if diff := cmp.Diff(&Interval{0.5, 0, 1, 2}, two); diff != "" {
		t.Errorf("a task with more trials weighs no more: %s", diff)
	}
	// Of a hundred fair coins the standard error is 0.05, so about 0.4 to 0.6.
	var coins [][]float64
	for i := range 100 {
		coins = append(coins, []float64{float64(i % 2)})
	}
	if got := bootstrap(coins); math.Abs(got.Low-0.4) > 0.02 || math.Abs(got.High-0.6) > 0.02 {
		t.Errorf("of a hundred coins: %+v", got)
	}
}

func TestPassAtK(t *testing.T) {
	attempts := func(task string, results ...trial.Status) (of []Outcome) {
		for _, s := range results {
			of = append(of, outcome(task, "x", s, 0))
		}
		return of
	}
	const yes, no = trial.Resolved, trial.Unresolved
	for _, tt := range []struct {
		name     string
		outcomes []Outcome
		want     map[string]float64
	}{
		{"one attempt", attempts("a", yes), nil},
		{"one of three", attempts("a", no, yes, no), map[string]float64{"1": 1. / 3, "2": 2. / 3, "3": 1}},
		// 1 - C(3,2)/C(5,2) = 1 - 3/10, and 1 - C(3,3)/C(5,3) = 1 - 1/10
		{"two of five", attempts("a", yes, no, yes, no, no), map[string]float64{"1": 0.4, "2": 0.7, "3": 0.9, "4": 1, "5": 1}},
		{
			"the mean over tasks, as far as all have attempts", append(attempts("a", yes, no, no), attempts("b", no, no)...),
			map[string]float64{"1": 1. / 6, "2": 1. / 3},
		},
	} {
		if diff := cmp.Diff(tt.want, passAtK(tt.outcomes), nearly); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
}

func TestScoreByTime(t *testing.T) {
	one := outcome("a", "x", trial.Unresolved, 0.75)
	one.Rounds = []judge.Submission{round(15*time.Minute, 0.25, nil), round(30*time.Minute, 0.75, new(4.0)), round(50*time.Minute, 0.5, nil)}
	two := outcome("b", "x", trial.Resolved, 1)
	two.Timeout = 2 * time.Hour
	two.Rounds = []judge.Submission{round(2*time.Hour+time.Second, 1, new(8.0))} // the last snapshot
	want := []TimePoint{
		{1. / 6, 1200, 0, nil},
		{2. / 6, 2400, 0.125, nil},
		{3. / 6, 3600, 0.375, new(4.0)},
		{4. / 6, 4800, 0.375, new(4.0)},
		{5. / 6, 6000, 0.375, new(4.0)},
		{1, 7200, 0.875, new(6.0)},
	}
	if diff := cmp.Diff(want, Summarize([]Outcome{one, two}).ScoreByTime, nearly); diff != "" {
		t.Error(diff)
	}
}

func TestSummary(t *testing.T) {
	outcomes := []Outcome{
		outcome("a", "x", trial.Resolved, 1), outcome("a", "y", trial.Unresolved, 0.5),
		outcome("b", "x", trial.AgentError, 0), outcome("b", "y", trial.TestError, 0),
		outcome("c", "x", trial.InfraError, 0), outcome("c", "y", trial.SetupError, 0),
		outcome("d", "x", trial.Cancelled, 0), outcome("d", "y", trial.SanityFail, 0),
	}
	outcomes[0].Finished.AgentDuration = 2.5
	outcomes[0].Finished.Usage = trial.Usage{InputTokens: 3, Requests: 1, CostUSD: 0.5}
	outcomes[2].Finished.Usage = trial.Usage{InputTokens: 4, OutputTokens: 9, CostUSD: 0.25}
	outcomes[0].Rounds = []judge.Submission{round(0, 1, nil), round(0, 1, nil)}
	s := Summarize(outcomes)
	if want := (Counts{1, 1, 1, 1, 1, 1, 1, 1}); s.Counts != want || s.Total != 8 {
		t.Errorf("counts %+v of %d", s.Counts, s.Total)
	}
	if diff := cmp.Diff(&Interval{0.25, 0.0456, 0.6994, 4}, s.ResolvedRate, nearly); diff != "" {
		t.Errorf("what the machinery spoilt is in no denominator: %s", diff)
	}
	if s.PassRate.Value != 0.375 || s.PassRate.N != 2 {
		t.Errorf("mean of the tasks' means %+v, want 0.375 of two", s.PassRate)
	}
	if s.Score != nil {
		t.Errorf("tasks without scores have %+v", s.Score)
	}
	if s.AgentDurationS != 2.5 || s.JudgeDurationS != 3 || s.Usage != (trial.Usage{InputTokens: 7, OutputTokens: 9, Requests: 1, CostUSD: 0.75}) {
		t.Errorf("costs: %v s, %v s, %+v", s.AgentDurationS, s.JudgeDurationS, s.Usage)
	}
	if x := s.Agents["x"]; len(s.Agents) != 2 || x.Total != 4 || x.ResolvedRate.Value != 0.5 || x.Agents != nil {
		t.Errorf("by agent: %+v", s.Agents)
	}
	if one := Summarize(outcomes[:1]); one.Agents != nil {
		t.Errorf("a single agent has a summary of its own")
	}
}

func TestSummaryOfNothingThatCounts(t *testing.T) {
	text, err := json.Marshal(Summarize([]Outcome{outcome("a", "x", trial.InfraError, 0)}))
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if got["resolved_rate"] != nil || got["infra_error"] != 1.0 || got["total"] != 1.0 || fmt.Sprint(got["score_by_time"]) != "[]" {
		t.Errorf("%s", text)
	}
}

// TestSummariesAddUp holds that the counts sum up, that rates lie in their intervals, and
// that the order of trials is of no importance.
func TestSummariesAddUp(t *testing.T) {
	all := []trial.Status{
		trial.Resolved, trial.Unresolved, trial.AgentError, trial.TestError,
		trial.SetupError, trial.SanityFail, trial.InfraError, trial.Cancelled,
	}
	rapid.Check(t, func(t *rapid.T) {
		outcomes := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Outcome {
			return outcome(rapid.StringMatching(`[abc]`).Draw(t, "task"), rapid.StringMatching(`[xy]`).Draw(t, "agent"),
				rapid.SampledFrom(all).Draw(t, "status"), float64(rapid.IntRange(0, 4).Draw(t, "rate"))/4)
		}), 0, 20).Draw(t, "outcomes")
		s := Summarize(outcomes)
		c := s.Counts
		if c.Resolved+c.Unresolved+c.AgentError+c.TestError+c.SetupError+c.SanityFail+c.InfraError+c.Cancelled != s.Total {
			t.Fatalf("%+v do not sum up to %d", c, s.Total)
		}
		for _, i := range []*Interval{s.ResolvedRate, s.PassRate} {
			if i != nil && !(0 <= i.Low && i.Low <= i.Value+1e-9 && i.Value <= i.High+1e-9 && i.High <= 1) {
				t.Fatalf("interval %+v", i)
			}
		}
		slices.Reverse(outcomes)
		again := Summarize(outcomes)
		if diff := cmp.Diff(s, again, cmpopts.EquateApprox(0, 1e-9)); diff != "" {
			t.Fatal(diff)
		}
	})
}
