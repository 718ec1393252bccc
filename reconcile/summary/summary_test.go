package summary

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

	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/task"
	"github.com/assayd/assayd/runtime/trial"
)

// start is when agents begin.
var start = time.Date(2030, 5, 1, 12, 0, 0, 0, time.UTC)

var approx = cmpopts.EquateApprox(0, 5e-5)

// outcome is a trial whose best round has the pass rate.
func outcome(task, agent string, s trial.Status, rate float64) *Outcome {
	o := &Outcome{Task: task, Agent: agent, Finished: trial.Finished{Status: s}, Timeout: time.Hour, Started: start}
	if s.Counts() {
		o.Finished.Best = &trial.Best{PassRate: rate}
	}
	return o
}

// judged is one judged round of an outcome, so long after its start.
func judged(after time.Duration, rate float64, score *float64) round.Submission {
	return round.Submission{
		State: round.StateJudged, AcceptedAt: start.Add(after),
		Report: &round.Report{Status: round.StatusOK, Valid: true, PassRate: rate, Score: score, JudgeMS: 1500},
	}
}

func TestPassAtK(t *testing.T) {
	attempts := func(task string, results ...trial.Status) (of []*Outcome) {
		for _, s := range results {
			of = append(of, outcome(task, "x", s, 0))
		}
		return of
	}
	const yes, no = trial.Resolved, trial.Unresolved
	type ks map[string]float64
	for _, tt := range []struct {
		name     string
		outcomes []*Outcome
		at, hat  ks
	}{
		{"one attempt", attempts("a", yes), nil, nil},
		{"one of three", attempts("a", no, yes, no), ks{"1": 1. / 3, "2": 2. / 3, "3": 1}, ks{"1": 1. / 3, "2": 0, "3": 0}},
		{
			"the mean over tasks, as far as all have attempts", append(attempts("a", yes, yes, no), attempts("b", no, no)...),
			ks{"1": 1. / 3, "2": 0.5},
			ks{"1": 1. / 3, "2": 1. / 6},
		},
		{"an attempt that does not count is none", attempts("a", yes, no, trial.InfraError, trial.Cancelled), ks{"1": 0.5, "2": 1}, ks{"1": 0.5, "2": 0}},
	} {
		s := Summarize(tt.outcomes)
		if diff := cmp.Diff(tt.at, ks(s.PassAtK), approx) + cmp.Diff(tt.hat, ks(s.PassHatK), approx); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
}

func TestScoreByTime(t *testing.T) {
	one := outcome("a", "x", trial.Unresolved, 0.75)
	one.Rounds = []round.Submission{judged(15*time.Minute, 0.25, nil), judged(30*time.Minute, 0.75, new(4.0)), judged(50*time.Minute, 0.5, nil)}
	two := outcome("b", "x", trial.Resolved, 1)
	two.Timeout = 2 * time.Hour
	two.Rounds = []round.Submission{judged(2*time.Hour+time.Second, 1, new(8.0))} // the last snapshot
	want := []TimePoint{
		{1. / 6, 1200, new(0.0), nil, 0, nil},
		{2. / 6, 2400, new(0.125), nil, 0, nil},
		{3. / 6, 3600, new(0.375), new(4.0), 1, nil},
		{4. / 6, 4800, new(0.375), new(4.0), 1, nil},
		{5. / 6, 6000, new(0.375), new(4.0), 1, nil},
		{1, 7200, new(0.875), new(6.0), 2, nil},
	}
	if diff := cmp.Diff(want, Summarize([]*Outcome{one, two}).ScoreByTime, approx); diff != "" {
		t.Error(diff)
	}
}

func TestSummary(t *testing.T) {
	outcomes := []*Outcome{
		outcome("a", "x", trial.Resolved, 1), outcome("a", "y", trial.Unresolved, 0.5),
		outcome("b", "x", trial.AgentError, 0), outcome("b", "y", trial.TestError, 0),
		outcome("c", "x", trial.InfraError, 0), outcome("c", "y", trial.SetupError, 0),
		outcome("d", "x", trial.Cancelled, 0), outcome("d", "y", trial.SanityFail, 0),
	}
	outcomes[0].Finished.AgentDuration = 2.5
	outcomes[0].Finished.Usage = trial.Usage{InputTokens: 3, Requests: 1, CostUSD: 0.5}
	outcomes[2].Finished.Usage = trial.Usage{InputTokens: 4, OutputTokens: 9, CostUSD: 0.25}
	outcomes[0].Finished.LostUsage = trial.Usage{InputTokens: 2, CostUSD: 0.125}
	outcomes[2].Finished.DiscardedUsage = trial.Usage{OutputTokens: 5}
	outcomes[0].Rounds = []round.Submission{judged(0, 1, nil), judged(0, 1, nil)}
	s := Summarize(outcomes)
	if want := (Counts{1, 1, 1, 1, 1, 1, 1, 1}); s.Counts != want || s.Total != 8 {
		t.Errorf("counts %+v of %d", s.Counts, s.Total)
	}
	if diff := cmp.Diff(&Interval{Value: 0.25, Low: 0.0456, High: 0.6994, N: 4}, s.ResolvedRate, approx); diff != "" {
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
	if want := (trial.Usage{InputTokens: 2, OutputTokens: 5, CostUSD: 0.125}); s.DiscardedUsage != want || s.LostUsage != want {
		t.Errorf("discarded: %+v, by the old name %+v", s.DiscardedUsage, s.LostUsage)
	}
	if x := s.Agents["x"]; len(s.Agents) != 2 || x.Total != 4 || x.ResolvedRate.Value != 0.5 || x.Agents != nil {
		t.Errorf("by agent: %+v", s.Agents)
	}
	if one := Summarize(outcomes[:1]); one.Agents != nil {
		t.Errorf("a single agent has a summary of its own")
	}
}

// Twelve repositories with ten tasks each that are all alike say no more than twelve tasks.
func TestTasksOfOneRepositoryAreResampledTogether(t *testing.T) {
	var alike, apart []*Outcome
	for i := range 120 {
		o := outcome(fmt.Sprint(i), "x", trial.Unresolved, float64(i/10%2))
		if i/10%2 == 1 {
			o.Finished.Status = trial.Resolved
		}
		of := *o
		of.Repo = fmt.Sprint("repo", i/10)
		apart, alike = append(apart, o), append(alike, &of)
	}
	a, b := Summarize(alike), Summarize(apart)
	if a.PassRate.Clusters != 12 || a.PassRate.N != 120 || b.PassRate.Clusters != 0 {
		t.Errorf("%+v, %+v", a.PassRate, b.PassRate)
	}
	for name, of := range map[string][2]*Interval{"pass rate": {a.PassRate, b.PassRate}, "resolved": {a.ResolvedByTask, b.ResolvedRate}} {
		if together, alone := of[0].High-of[0].Low, of[1].High-of[1].Low; together < 2*alone {
			t.Errorf("%s: %v wide, and were they not alike %v", name, together, alone)
		}
	}
	if b.ResolvedByTask != nil {
		t.Errorf("trials that are independent have %+v", b.ResolvedByTask)
	}
}

func TestTheRepositoryOfATask(t *testing.T) {
	for want, of := range map[string]task.Task{
		"":         {},
		"a/b":      {Metadata: map[string]string{"repo": "a/b"}, Repo: &task.Repo{URL: "file:///mirror"}},
		"https://": {Metadata: map[string]string{"language": "go"}, Repo: &task.Repo{URL: "https://"}},
	} {
		if got := RepoOf(of); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// Benchmarks may have tasks of one name, and an agent several models.
func TestWhatHasOneNameIsNotOne(t *testing.T) {
	a, b := outcome("t", "x", trial.Resolved, 1), outcome("t", "x", trial.Unresolved, 0)
	a.Benchmark, a.Model, b.Benchmark, b.Model = "one", "m", "two", "n"
	s := Summarize([]*Outcome{a, b})
	if s.PassRate.N != 2 || s.PassAtK != nil {
		t.Errorf("%+v of two tasks, %v", s.PassRate, s.PassAtK)
	}
	if len(s.Agents) != 2 || s.Agents["x m"].Resolved != 1 || s.Agents["x n"].Unresolved != 1 {
		t.Errorf("agents %+v", s.Agents)
	}
}

// Scores come from judges of all kinds; a summary is always JSON.
func TestScoresThatNoMeanCanBeMadeOf(t *testing.T) {
	var outcomes []*Outcome
	for i := range 3 {
		o := outcome(fmt.Sprint(i), "x", trial.Unresolved, 0)
		o.Finished.Best.Score = new(math.MaxFloat64)
		o.Rounds = []round.Submission{judged(time.Minute, 0, o.Finished.Best.Score)}
		outcomes = append(outcomes, o)
	}
	outcomes[0].Finished.Best.Score = new(2.5)
	s := Summarize(outcomes)
	if _, err := json.Marshal(s); err != nil {
		t.Fatal(err)
	}
	if s.Score == nil || s.Score.Value != 2.5 || s.Score.N != 1 {
		t.Errorf("score %+v", s.Score)
	}
}

// On a scale from 0 to 100 who has nothing has 0, at each moment.
func TestScoresThatAreRescaled(t *testing.T) {
	one, two := outcome("a", "x", trial.Unresolved, 0), outcome("b", "x", trial.Unresolved, 0)
	for _, o := range []*Outcome{one, two} {
		o.Judge.Rescale = &task.Rescale{}
	}
	one.Finished.Best.Score100 = new(60.0)
	one.Rounds = []round.Submission{judged(45*time.Minute, 0, new(3.0))}
	one.Rounds[0].Report.Score100 = new(60.0)
	two.Finished.Best = nil
	lost := outcome("c", "x", trial.InfraError, 0)
	lost.Judge.Rescale = &task.Rescale{}
	s := Summarize([]*Outcome{one, two, lost, outcome("d", "x", trial.Resolved, 1)})
	if s.Score100 == nil || s.Score100.Value != 30 || s.Score100.N != 2 {
		t.Errorf("%+v, want 30 of two", s.Score100)
	}
	for i, want := range []float64{0, 0, 0, 0, 30, 30} {
		if got := s.ScoreByTime[i].Score100; got == nil || *got != want {
			t.Errorf("at %d/6: %v, want %v", i+1, got, want)
		}
	}
}

func TestSummaryOfNothingThatCounts(t *testing.T) {
	text, err := json.Marshal(Summarize([]*Outcome{outcome("a", "x", trial.InfraError, 0)}))
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
		outcomes := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) *Outcome {
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
