package reconcile

import (
	"strconv"
	"time"

	"github.com/assayd/assayd/runtime/judge"
	"github.com/assayd/assayd/runtime/stats"
	"github.com/assayd/assayd/runtime/task"
	"github.com/assayd/assayd/runtime/trial"
)

// Outcome is one finished trial with its rounds: what a summary is made of.
type Outcome struct {
	Benchmark string
	Task      string
	Repo      string // of the task: those of one are alike; "" = it has none
	Agent     string
	Model     string
	Finished  trial.Finished
	Judge     task.Judge // how rounds of its task are compared
	Timeout   time.Duration
	Started   time.Time
	Rounds    []judge.Submission

	content task.Task // as it was when the trial began
}

// repoOf is the repository of a task: what its format says it is, or where it is cloned
// from.
func repoOf(t task.Task) string {
	if repo := t.Metadata["repo"]; repo != "" || t.Repo == nil {
		return repo
	}
	return t.Repo.URL
}

// key tells tasks apart; two benchmarks may have one of the same name.
func (o Outcome) key() string {
	if o.Benchmark == "" {
		return o.Task
	}
	return o.Benchmark + "." + o.Task
}

// Summary is what a run's trials amount to. Rates and means are over the trials that
// count; infra_error, setup_error, sanity_fail and cancelled are shown and in no
// denominator.
type Summary struct {
	Total int `json:"total"`
	Counts
	ResolvedRate   *Interval          `json:"resolved_rate"`              // of trials
	ResolvedByTask *Interval          `json:"resolved_by_task,omitempty"` // where several trials are at one task, or tasks of one repository
	PassRate       *Interval          `json:"pass_rate"`                  // mean of the best rounds
	Score          *Interval          `json:"score"`                      // the same of raw scores, where tasks have them
	Score100       *Interval          `json:"score_0_100,omitempty"`      // the same of rescaled scores, 0 where there is none, of tasks that rescale
	PassAtK        map[string]float64 `json:"pass_at_k,omitempty"`
	PassHatK       map[string]float64 `json:"pass_hat_k,omitempty"` // all of k attempts
	ScoreByTime    []TimePoint        `json:"score_by_time"`
	Usage          trial.Usage        `json:"usage"`               // of all tries
	LostUsage      trial.Usage        `json:"lost_usage,omitzero"` // of it, what went into tries that do not count
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
	Value    float64 `json:"value"`
	Low      float64 `json:"low"`
	High     float64 `json:"high"`
	N        int     `json:"n"`                  // tasks; of the resolved rate, trials
	SE       float64 `json:"se,omitempty"`       // standard error, where it is over tasks
	Clusters int     `json:"clusters,omitempty"` // repositories, and tasks without one, where they are fewer than tasks
}

func intervalOf(e stats.Estimate, ok bool) *Interval {
	if !ok {
		return nil
	}
	i := Interval{Value: e.Value, Low: e.Low, High: e.High, N: e.N, SE: e.SE}
	if e.Clusters < e.N {
		i.Clusters = e.Clusters
	}
	return &i
}

// Summarize computes the summary of trials; it is deterministic.
func Summarize(outcomes []Outcome) Summary {
	s := summarize(outcomes)
	if byAgent := byAgent(outcomes); len(byAgent) > 1 {
		s.Agents = map[string]Summary{}
		for name, of := range byAgent {
			s.Agents[name] = summarize(of)
		}
	}
	return s
}

// byAgent groups outcomes by the agent's label, with the model where one agent has several.
func byAgent(outcomes []Outcome) map[string][]Outcome {
	models := map[string]string{}
	several := map[string]bool{}
	for _, o := range outcomes {
		if model, seen := models[o.Agent]; seen && model != o.Model {
			several[o.Agent] = true
		}
		models[o.Agent] = o.Model
	}
	groups := map[string][]Outcome{}
	for _, o := range outcomes {
		name := o.Agent
		if several[name] {
			name += " " + o.Model
		}
		groups[name] = append(groups[name], o)
	}
	return groups
}

func summarize(outcomes []Outcome) Summary {
	s := Summary{Total: len(outcomes), ScoreByTime: []TimePoint{}}
	counted := 0
	for _, o := range outcomes {
		s.add(o.Finished.Status)
		s.AgentDurationS += o.Finished.AgentDuration
		s.Usage.Add(o.Finished.Usage)
		s.LostUsage.Add(o.Finished.LostUsage)
		for _, r := range o.Rounds {
			if r.Report != nil {
				s.JudgeDurationS += float64(r.Report.JudgeMS) / 1000
			}
		}
		if o.Finished.Status.Counts() {
			counted++
		}
	}
	if counted == 0 {
		return s
	}
	if rate, err := stats.Wilson(s.Resolved, counted); err == nil {
		s.ResolvedRate = &Interval{Value: rate.Value, Low: rate.Low, High: rate.High, N: rate.N}
	}
	if of := meanOf(outcomes, resolved); of.Clusters > 0 || of.N < counted {
		s.ResolvedByTask = of
	}
	s.PassRate, s.Score, s.Score100 = meanOf(outcomes, passRate), meanOf(outcomes, score), meanOf(outcomes, score100)
	s.PassAtK, s.PassHatK = ofEachK(outcomes)
	s.ScoreByTime = byTime(outcomes)
	return s
}

// measure is what a trial that counts comes to; nothing where it does not apply.
type measure func(Outcome) stats.Outcome

func resolved(o Outcome) stats.Outcome { return stats.Pass(o.Finished.Status == trial.Resolved) }

func passRate(o Outcome) stats.Outcome {
	if o.Finished.Best == nil {
		return stats.Pass(false)
	}
	return valued(&o.Finished.Best.PassRate)
}

func score(o Outcome) stats.Outcome {
	if o.Finished.Best == nil {
		return stats.Outcome{}
	}
	return valued(o.Finished.Best.Score)
}

func score100(o Outcome) stats.Outcome {
	switch {
	case o.Judge.Rescale == nil:
		return stats.Outcome{}
	case o.Finished.Best == nil || o.Finished.Best.Score100 == nil:
		return stats.Pass(false)
	}
	return valued(o.Finished.Best.Score100)
}

// valued is nothing for a score that no mean can be made of.
func valued(v *float64) stats.Outcome {
	if v == nil {
		return stats.Outcome{}
	}
	o, err := stats.Of(*v)
	if err != nil {
		return stats.Outcome{}
	}
	return o
}

// samples has one of each task. Trials that do not count are in none: this is the only
// place where outcomes become numbers.
func samples(outcomes []Outcome, of measure) []stats.Sample {
	return samplesBy(outcomes, Outcome.key, of)
}

// samplesBy has one sample for each key; those of one task are never apart.
func samplesBy(outcomes []Outcome, key func(Outcome) string, of measure) []stats.Sample {
	var all []stats.Sample
	place := map[string]int{}
	for _, o := range outcomes {
		if !o.Finished.Status.Counts() {
			continue
		}
		k := key(o)
		i, seen := place[k]
		if !seen {
			i = len(all)
			place[k] = i
			all = append(all, stats.Sample{Task: k, Cluster: o.Repo})
		}
		all[i].Attempts = append(all[i].Attempts, of(o))
	}
	return all
}

func meanOf(outcomes []Outcome, of measure) *Interval {
	return intervalOf(stats.Mean(samples(outcomes, of)))
}

// ofEachK is pass@k and pass^k averaged over pairs of task and agent, for every k up to the
// smallest number of attempts; nil with a single attempt.
func ofEachK(outcomes []Outcome) (at, hat map[string]float64) {
	pairs := samplesBy(outcomes, func(o Outcome) string { return o.key() + "\x00" + o.Agent + "\x00" + o.Model }, resolved)
	most := stats.MaxK(pairs)
	if most < 2 {
		return nil, nil
	}
	at, hat = map[string]float64{}, map[string]float64{}
	for k := 1; k <= most; k++ {
		one, _ := stats.PassAtK(pairs, k)
		every, _ := stats.PassHatK(pairs, k)
		at[strconv.Itoa(k)], hat[strconv.Itoa(k)] = one.Value, every.Value
	}
	return at, hat
}
