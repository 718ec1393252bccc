package reconcile

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/assayd/assayd/runtime/judge"
	"github.com/assayd/assayd/runtime/task"
	"github.com/assayd/assayd/runtime/trial"
)

// Outcome is one finished trial with its rounds: what a summary is made of.
type Outcome struct {
	Task     string
	Agent    string
	Finished trial.Finished
	Judge    task.Judge // how rounds of its task are compared
	Timeout  time.Duration
	Started  time.Time
	Rounds   []judge.Submission
}

// Summary is what a run's trials amount to. Rates and means are over the trials that
// count; infra_error, setup_error, sanity_fail and cancelled are shown and in no
// denominator.
type Summary struct {
	Total int `json:"total"`
	Counts
	ResolvedRate   *Interval          `json:"resolved_rate"`
	PassRate       *Interval          `json:"pass_rate"` // mean of the best rounds
	Score          *Interval          `json:"score"`     // the same of raw scores, where tasks have them
	PassAtK        map[string]float64 `json:"pass_at_k,omitempty"`
	ScoreByTime    []TimePoint        `json:"score_by_time"`
	Usage          trial.Usage        `json:"usage"`
	AgentDurationS float64            `json:"agent_duration_s"`
	JudgeDurationS float64            `json:"judge_duration_s"`
	Agents         map[string]Summary `json:"agents,omitempty"` // where there is more than one
}

// Counts counts trials by status; they sum up to the total.
type Counts struct {
	Resolved   int `json:"resolved"`
	Unresolved int `json:"unresolved"`
	AgentError int `json:"agent_error"`
	TestError  int `json:"test_error"`
	SetupError int `json:"setup_error"`
	SanityFail int `json:"sanity_fail"`
	InfraError int `json:"infra_error"`
	Cancelled  int `json:"cancelled"`
}

func (c *Counts) add(s trial.Status) {
	switch s {
	case trial.Resolved:
		c.Resolved++
	case trial.Unresolved:
		c.Unresolved++
	case trial.AgentError:
		c.AgentError++
	case trial.TestError:
		c.TestError++
	case trial.SetupError:
		c.SetupError++
	case trial.SanityFail:
		c.SanityFail++
	case trial.InfraError:
		c.InfraError++
	case trial.Cancelled:
		c.Cancelled++
	}
}

// Interval is a value with its 95 % interval.
type Interval struct {
	Value float64 `json:"value"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
	N     int     `json:"n"`
}

// TimePoint is the mean of the best rounds accepted until a part of the time was over.
type TimePoint struct {
	Fraction float64  `json:"fraction"`
	ElapsedS float64  `json:"elapsed_s"` // of the longest timeout
	PassRate float64  `json:"pass_rate"`
	Score    *float64 `json:"score"`
}

// Summarize computes the summary of trials; it is deterministic.
func Summarize(outcomes []Outcome) Summary {
	s := summarize(outcomes)
	byAgent := map[string][]Outcome{}
	for _, o := range outcomes {
		byAgent[o.Agent] = append(byAgent[o.Agent], o)
	}
	if len(byAgent) > 1 {
		s.Agents = map[string]Summary{}
		for name, of := range byAgent {
			s.Agents[name] = summarize(of)
		}
	}
	return s
}

func summarize(outcomes []Outcome) Summary {
	s := Summary{Total: len(outcomes), ScoreByTime: []TimePoint{}}
	var counted []Outcome
	for _, o := range outcomes {
		s.add(o.Finished.Status)
		s.AgentDurationS += o.Finished.AgentDuration
		s.Usage.Add(o.Finished.Usage)
		for _, r := range o.Rounds {
			if r.Report != nil {
				s.JudgeDurationS += float64(r.Report.JudgeMS) / 1000
			}
		}
		if o.Finished.Status.Counts() {
			counted = append(counted, o)
		}
	}
	if len(counted) == 0 {
		return s
	}
	s.ResolvedRate = wilson(s.Resolved, len(counted))
	s.PassRate = bootstrap(byTask(counted, func(o Outcome) (float64, bool) { return passRate(o.Finished.Best), true }))
	s.Score = bootstrap(byTask(counted, func(o Outcome) (float64, bool) {
		if o.Finished.Best == nil || o.Finished.Best.Score == nil {
			return 0, false
		}
		return *o.Finished.Best.Score, true
	}))
	s.PassAtK = passAtK(counted)
	s.ScoreByTime = byTime(counted)
	return s
}

func passRate(b *trial.Best) float64 {
	if b == nil {
		return 0
	}
	return b.PassRate
}

// wilson is the score interval of a proportion at 95 % (Wilson 1927), which stays inside
// 0..1 and is right for small n.
func wilson(k, n int) *Interval {
	const z = 1.959963984540054
	p, m := float64(k)/float64(n), float64(n)
	centre := (p + z*z/(2*m)) / (1 + z*z/m)
	half := z / (1 + z*z/m) * math.Sqrt(p*(1-p)/m+z*z/(4*m*m))
	return &Interval{Value: p, Low: max(0, centre-half), High: min(1, centre+half), N: n}
}

// byTask groups one number a trial by task: tasks, not trials, are what is resampled.
func byTask(outcomes []Outcome, value func(Outcome) (float64, bool)) [][]float64 {
	groups := map[string][]float64{}
	for _, o := range outcomes {
		if v, ok := value(o); ok {
			groups[o.Task] = append(groups[o.Task], v)
		}
	}
	names := make([]string, 0, len(groups))
	for name := range groups {
		names = append(names, name)
	}
	slices.Sort(names)
	out := make([][]float64, len(names))
	for i, name := range names {
		out[i] = groups[name]
	}
	return out
}

// bootstrap is the mean over tasks of each task's mean with its percentile interval from
// 2000 resamples of tasks. The generator is seeded, so that the same trials always give
// the same numbers.
func bootstrap(groups [][]float64) *Interval {
	if len(groups) == 0 {
		return nil
	}
	means := make([]float64, len(groups))
	for i, g := range groups {
		means[i] = mean(g)
	}
	const resamples = 2000
	rng := rand.New(rand.NewPCG(1, uint64(len(groups))))
	sampled := make([]float64, resamples)
	for i := range sampled {
		sum := 0.0
		for range means {
			sum += means[rng.IntN(len(means))]
		}
		sampled[i] = sum / float64(len(means))
	}
	slices.Sort(sampled)
	return &Interval{Value: mean(means), Low: sampled[resamples*25/1000], High: sampled[resamples*975/1000-1], N: len(groups)}
}

func mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

// passAtK is the unbiased estimator 1 - C(n-c, k)/C(n, k) of Chen et al. 2021, averaged
// over pairs of task and agent, for every k up to the smallest number of attempts; nil
// with a single attempt.
func passAtK(outcomes []Outcome) map[string]float64 {
	type pair struct{ task, agent string }
	n, c := map[pair]int{}, map[pair]int{}
	for _, o := range outcomes {
		p := pair{o.Task, o.Agent}
		n[p]++
		if o.Finished.Status == trial.Resolved {
			c[p]++
		}
	}
	smallest := math.MaxInt
	for _, attempts := range n {
		smallest = min(smallest, attempts)
	}
	if smallest < 2 {
		return nil
	}
	result := map[string]float64{}
	for k := 1; k <= smallest; k++ {
		sum := 0.0
		for p, attempts := range n {
			fail := 1.0
			for i := range k {
				fail *= max(0, float64(attempts-c[p]-i)) / float64(attempts-i)
			}
			sum += 1 - fail
		}
		result[fmt.Sprint(k)] = sum / float64(len(n))
	}
	return result
}

// byTime is the table of scores at 1/6 … 6/6 of the time.
func byTime(outcomes []Outcome) []TimePoint {
	const parts = 6
	points := make([]TimePoint, parts)
	for i := range points {
		f := float64(i+1) / parts
		points[i].Fraction = f
		var rates, scores []float64
		for _, o := range outcomes {
			points[i].ElapsedS = max(points[i].ElapsedS, f*o.Timeout.Seconds())
			best, ok := bestUntil(o, time.Duration(f*float64(o.Timeout)), i == parts-1)
			if !ok {
				rates = append(rates, 0)
				continue
			}
			rates = append(rates, best.PassRate)
			if best.Score != nil {
				scores = append(scores, *best.Score)
			}
		}
		points[i].PassRate = mean(rates)
		if len(scores) > 0 {
			m := mean(scores)
			points[i].Score = &m
		}
	}
	return points
}

// bestUntil is the best round accepted in the first part of the time; all rounds count at
// the end, the last snapshot among them.
func bestUntil(o Outcome, elapsed time.Duration, all bool) (*judge.Report, bool) {
	var rounds []judge.Submission
	for _, r := range o.Rounds {
		if all || r.AcceptedAt.Sub(o.Started) <= elapsed {
			rounds = append(rounds, r)
		}
	}
	best, ok := judge.Best(o.Judge, rounds)
	return best.Report, ok
}
