package summary

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"github.com/assayd/assayd/runtime/judge/round"
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
	Control   bool // the agent is the oracle or nop: it is in no rate of others
	Finished  trial.Finished
	Judge     task.Judge // how rounds of its task are compared
	Timeout   time.Duration
	Started   time.Time
	Rounds    []round.Submission

	Content *task.Task // as it was when the trial began; shared
}

// RepoOf is the repository of a task: what its format says it is, or where it is cloned
// from.
func RepoOf(t task.Task) string {
	if repo := t.Metadata["repo"]; repo != "" || t.Repo == nil {
		return repo
	}
	return t.Repo.URL
}

// key tells tasks apart; two benchmarks may have one of the same name.
func (o *Outcome) key() string {
	if o.Benchmark == "" {
		return o.Task
	}
	return o.Benchmark + "." + o.Task
}

// unfixed reports whether the trial's number of tests is what happened to be seen.
func (o *Outcome) unfixed() bool { return slices.Contains(o.Finished.Flags, trial.FlagNoManifest) }

// Summary is what a run's trials amount to. Total, counts, usage and durations are of all
// trials. Rates and means are over the trials of agents that count: infra_error, setup_error,
// sanity_fail and cancelled are in no denominator, and neither is a control (oracle, nop),
// which has a summary of its own.
type Summary struct {
	Total int `json:"total"`
	Counts
	ResolvedRate   *Interval          `json:"resolved_rate"`              // of trials
	ResolvedByTask *Interval          `json:"resolved_by_task,omitempty"` // where several trials are at one task, or tasks of one repository
	PassRate       *Interval          `json:"pass_rate"`                  // mean of the best rounds
	NoManifest     int                `json:"no_manifest,omitempty"`      // trials that count and whose pass rate is in no mean: their number of tests is not fixed
	Stopped        int                `json:"stopped,omitempty"`          // trials that count and whose time a user made be over
	Extended       int                `json:"extended,omitempty"`         // trials that count and whose deadline a user moved; their numbers are of the declared one
	Score          *Interval          `json:"score"`                      // the same of raw scores, where tasks have them
	Score100       *Interval          `json:"score_0_100,omitempty"`      // the same of rescaled scores, 0 where there is none, of tasks that rescale
	PassAtK        map[string]float64 `json:"pass_at_k,omitempty"`
	PassHatK       map[string]float64 `json:"pass_hat_k,omitempty"` // all of k attempts
	ScoreByTime    []TimePoint        `json:"score_by_time"`
	Usage          trial.Usage        `json:"usage"`                    // of all tries
	DiscardedUsage trial.Usage        `json:"discarded_usage,omitzero"` // of it, what went into tries that do not count
	LostUsage      trial.Usage        `json:"lost_usage,omitzero"`      // the same under the name that it had first
	AgentDurationS float64            `json:"agent_duration_s"`
	JudgeDurationS float64            `json:"judge_duration_s"`
	Agents         map[string]Summary `json:"agents,omitempty"`   // where there is more than one that is no control
	Controls       map[string]Summary `json:"controls,omitempty"` // of oracle and nop
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
func Summarize(outcomes []*Outcome) Summary {
	outcomes = sorted(outcomes)
	agents := outcomes
	if isControl := func(o *Outcome) bool { return o.Control }; slices.ContainsFunc(outcomes, isControl) {
		agents = slices.DeleteFunc(slices.Clone(outcomes), isControl)
	}
	s := totals(outcomes)
	s.rates(agents)
	groups := map[bool]map[string]Summary{true: {}, false: {}}
	for name, of := range byAgent(outcomes) {
		groups[of[0].Control][name] = summarize(of)
	}
	if len(groups[false]) > 1 {
		s.Agents = groups[false]
	}
	if len(groups[true]) > 0 {
		s.Controls = groups[true]
	}
	return s
}

// sorted puts outcomes into an order that does not depend on which trial was planned, or
// ended, first: sums of floating point numbers and resamples do.
func sorted(outcomes []*Outcome) []*Outcome {
	if slices.IsSortedFunc(outcomes, inOrder) {
		return outcomes
	}
	return slices.SortedStableFunc(slices.Values(outcomes), inOrder)
}

func inOrder(a, b *Outcome) int {
	return cmp.Or(
		cmp.Compare(a.Benchmark, b.Benchmark), cmp.Compare(a.Task, b.Task), cmp.Compare(a.Agent, b.Agent), cmp.Compare(a.Model, b.Model),
		cmp.Compare(a.Finished.Attempt, b.Finished.Attempt),
	)
}

// byAgent groups outcomes by the agent's label, with the model where one agent has several.
func byAgent(outcomes []*Outcome) map[string][]*Outcome {
	models := map[string]string{}
	several := map[string]bool{}
	for _, o := range outcomes {
		if model, seen := models[o.Agent]; seen && model != o.Model {
			several[o.Agent] = true
		}
		models[o.Agent] = o.Model
	}
	name := func(o *Outcome) string {
		if several[o.Agent] {
			return o.Agent + " " + o.Model
		}
		return o.Agent
	}
	return grouped(outcomes, name)
}

// grouped are the outcomes of each name, in their order.
func grouped(outcomes []*Outcome, name func(*Outcome) string) map[string][]*Outcome {
	sizes := map[string]int{}
	for _, o := range outcomes {
		sizes[name(o)]++
	}
	groups := make(map[string][]*Outcome, len(sizes))
	for name, size := range sizes {
		groups[name] = make([]*Outcome, 0, size)
	}
	for _, o := range outcomes {
		of := name(o)
		groups[of] = append(groups[of], o)
	}
	return groups
}

// summarize is the summary of one agent, which may be a control.
func summarize(outcomes []*Outcome) Summary {
	outcomes = sorted(outcomes)
	s := totals(outcomes)
	s.rates(outcomes)
	return s
}

// totals are the parts of a summary that are of all trials.
func totals(outcomes []*Outcome) Summary {
	s := Summary{Total: len(outcomes), ScoreByTime: []TimePoint{}}
	for _, o := range outcomes {
		s.add(o.Finished.Status)
		s.AgentDurationS += o.Finished.AgentDuration
		s.Usage.Add(o.Finished.Usage)
		s.DiscardedUsage.Add(o.Finished.Discarded())
		for _, r := range o.Rounds {
			if r.Report != nil {
				s.JudgeDurationS += float64(r.Report.JudgeMS) / 1000
			}
		}
	}
	s.LostUsage = s.DiscardedUsage
	return s
}

// rates fills in what is a rate or a mean of trials.
func (s *Summary) rates(outcomes []*Outcome) {
	passed, counted := 0, 0
	for _, o := range outcomes {
		if o.Finished.Status.Counts() {
			counted++
			if o.unfixed() {
				s.NoManifest++
			}
			if slices.Contains(o.Finished.Flags, trial.ReasonStopped) {
				s.Stopped++
			}
			if slices.Contains(o.Finished.Flags, trial.FlagExtended) {
				s.Extended++
			}
		}
		if o.Finished.Status == trial.Resolved {
			passed++
		}
	}
	if counted == 0 {
		return
	}
	if rate, err := stats.Wilson(passed, counted); err == nil {
		s.ResolvedRate = &Interval{Value: rate.Value, Low: rate.Low, High: rate.High, N: rate.N}
	}
	by := placesOf(outcomes, (*Outcome).key)
	of := meansOf(by.samples(outcomes, resolved), by.samples(outcomes, passRate), by.samples(outcomes, score), by.samples(outcomes, score100))
	if tasks := of[0]; tasks.Clusters > 0 || tasks.N < counted {
		s.ResolvedByTask = tasks
	}
	s.PassRate, s.Score, s.Score100 = of[1], of[2], of[3]
	s.PassAtK, s.PassHatK = ofEachK(outcomes)
	s.ScoreByTime = byTime(outcomes)
}

// measure is what a trial that counts comes to with a round as its best, which may be nil; nothing where
// it does not apply.
type measure func(o *Outcome, best *trial.Best) stats.Outcome

func resolved(o *Outcome, _ *trial.Best) stats.Outcome {
	return stats.Pass(o.Finished.Status == trial.Resolved)
}

// passRate is no measure of a trial without a fixed number of tests.
func passRate(o *Outcome, best *trial.Best) stats.Outcome {
	if o.unfixed() {
		return stats.Outcome{}
	}
	if best == nil {
		return stats.Pass(false)
	}
	return valued(&best.PassRate)
}

func score(_ *Outcome, best *trial.Best) stats.Outcome {
	if best == nil {
		return stats.Outcome{}
	}
	return valued(best.Score)
}

func score100(o *Outcome, best *trial.Best) stats.Outcome {
	switch {
	case o.Judge.Rescale == nil:
		return stats.Outcome{}
	case best == nil || best.Score100 == nil:
		return stats.Pass(false)
	}
	return valued(best.Score100)
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
func samples(outcomes []*Outcome, of measure) []stats.Sample {
	return placesOf(outcomes, (*Outcome).key).samples(outcomes, of)
}

// places tells for each of some outcomes, in their order, of which sample its number is. It holds for
// others of the same trials, whatever their rounds.
type places struct {
	of    []int          // -1 = the trial does not count
	empty []stats.Sample // without attempts
	sizes []int          // how many attempts each has
}

// placesOf has one sample for each key; those of one task are never apart.
func placesOf(outcomes []*Outcome, key func(*Outcome) string) places {
	p := places{of: make([]int, len(outcomes))}
	at := map[string]int{}
	for i, o := range outcomes {
		if !o.Finished.Status.Counts() {
			p.of[i] = -1
			continue
		}
		k := key(o)
		place, seen := at[k]
		if !seen {
			place = len(p.empty)
			at[k] = place
			p.empty, p.sizes = append(p.empty, stats.Sample{Task: k, Cluster: o.Repo}), append(p.sizes, 0)
		}
		p.of[i] = place
		p.sizes[place]++
	}
	return p
}

// samples are those of a measure, with the best rounds that trials have at their end.
func (p places) samples(outcomes []*Outcome, of measure) []stats.Sample {
	return p.sampled(of, func(i int) (*Outcome, *trial.Best) { return outcomes[i], outcomes[i].Finished.Best })
}

// sampled are those of a measure; at tells of each outcome its best round at a time.
func (p places) sampled(of measure, at func(i int) (*Outcome, *trial.Best)) []stats.Sample {
	all, attempts := slices.Clone(p.empty), make([]stats.Outcome, len(p.of))
	for i, n := range p.sizes {
		all[i].Attempts, attempts = attempts[:0:n], attempts[n:]
	}
	for i, place := range p.of {
		if place >= 0 {
			all[place].Attempts = append(all[place].Attempts, of(at(i)))
		}
	}
	return all
}

// meansOf are the means of several lists of samples; nil for one of which nothing counts.
func meansOf(lists ...[]stats.Sample) []*Interval {
	estimates, known := stats.Means(lists)
	intervals := make([]*Interval, len(lists))
	for i, e := range estimates {
		intervals[i] = intervalOf(e, known[i])
	}
	return intervals
}

// ofEachK is pass@k and pass^k averaged over pairs of task and agent, for every k up to the
// smallest number of attempts; nil with a single attempt.
func ofEachK(outcomes []*Outcome) (at, hat map[string]float64) {
	pairs := placesOf(outcomes, func(o *Outcome) string { return o.key() + "\x00" + o.Agent + "\x00" + o.Model }).samples(outcomes, resolved)
	one, every := stats.PassValuesOfEachK(pairs)
	if len(one) < 2 {
		return nil, nil
	}
	at, hat = map[string]float64{}, map[string]float64{}
	for i := range one {
		k := strconv.Itoa(i + 1)
		at[k], hat[k] = one[i], every[i]
	}
	return at, hat
}
