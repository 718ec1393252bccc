package export

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/assayd/assayd/runtime/trial"
)

// harborJob is the result.json of a job.
type harborJob struct {
	ID         string      `json:"id"`
	StartedAt  *time.Time  `json:"started_at"`
	UpdatedAt  *time.Time  `json:"updated_at"`
	FinishedAt *time.Time  `json:"finished_at"`
	Total      int         `json:"n_total_trials"`
	Stats      harborStats `json:"stats"`
}

type harborStats struct {
	Completed int                    `json:"n_completed_trials"`
	Errored   int                    `json:"n_errored_trials"`
	Running   int                    `json:"n_running_trials"`
	Pending   int                    `json:"n_pending_trials"`
	Cancelled int                    `json:"n_cancelled_trials"`
	Retries   int                    `json:"n_retries"`
	Input     int64                  `json:"n_input_tokens"`
	Cached    int64                  `json:"n_cache_tokens"`
	Output    int64                  `json:"n_output_tokens"`
	Cost      float64                `json:"cost_usd"`
	Evals     map[string]*harborEval `json:"evals"`
}

type harborEval struct {
	Trials     int                            `json:"n_trials"`
	Errors     int                            `json:"n_errors"`
	Metrics    []map[string]float64           `json:"metrics"`
	PassAtK    map[string]float64             `json:"pass_at_k"`
	Rewards    map[string]map[string][]string `json:"reward_stats"`
	Exceptions map[string][]string            `json:"exception_stats"`
}

func (x *outcomes) job() harborJob {
	j := harborJob{ID: uuid(x.run.Address, strconv.Itoa(x.run.Execution)), Total: len(x.trials), Stats: harborStats{Evals: map[string]*harborEval{}}}
	open := false
	for _, o := range x.trials {
		r := harborOf(o, "")
		j.Stats.add(o, r)
		open = open || o.Result == nil
		if !o.StartedAt.IsZero() && (j.StartedAt == nil || o.StartedAt.Before(*j.StartedAt)) {
			j.StartedAt = moment(o.StartedAt)
		}
		if !o.EndedAt.IsZero() && (j.UpdatedAt == nil || o.EndedAt.After(*j.UpdatedAt)) {
			j.UpdatedAt = moment(o.EndedAt)
		}
	}
	if !open {
		j.FinishedAt = j.UpdatedAt
	}
	for _, e := range j.Stats.Evals {
		e.mean()
	}
	return j
}

func (s *harborStats) add(o outcome, r harborTrial) {
	s.Retries += max(o.Try-1, 0)
	switch {
	case o.Result == nil && o.StartedAt.IsZero():
		s.Pending++
		return
	case o.Result == nil:
		s.Running++
		return
	case o.Result.Status == trial.Cancelled:
		s.Cancelled++
	case r.Exception != nil:
		s.Errored++
	default:
		s.Completed++
	}
	u := o.Result.Usage
	s.Input, s.Cached, s.Output, s.Cost = s.Input+u.InputTokens, s.Cached+u.CachedTokens, s.Output+u.OutputTokens, s.Cost+u.CostUSD
	name := o.Cell.Agent.Title() + "__" + cmp.Or(o.Cell.Agent.Model, "none") + "__" + o.Cell.Task.Benchmark
	e := s.Evals[name]
	if e == nil {
		e = &harborEval{Metrics: []map[string]float64{}, PassAtK: map[string]float64{}, Rewards: map[string]map[string][]string{}, Exceptions: map[string][]string{}}
		s.Evals[name] = e
	}
	e.Trials++
	if r.Exception != nil {
		e.Errors++
		e.Exceptions[r.Exception.Type] = append(e.Exceptions[r.Exception.Type], o.name)
	}
	if r.Verifier != nil {
		for key, v := range r.Verifier.Rewards {
			if e.Rewards[key] == nil {
				e.Rewards[key] = map[string][]string{}
			}
			text := strconv.FormatFloat(v, 'g', -1, 64)
			e.Rewards[key][text] = append(e.Rewards[key][text], o.name)
		}
	}
}

// mean is the only metric that is not a matter of how many attempts there were.
func (e *harborEval) mean() {
	total, n := 0.0, 0
	for _, text := range slices.Sorted(maps.Keys(e.Rewards["reward"])) {
		v, err := strconv.ParseFloat(text, 64)
		if err == nil {
			total, n = total+v*float64(len(e.Rewards["reward"][text])), n+len(e.Rewards["reward"][text])
		}
	}
	if n > 0 {
		e.Metrics = append(e.Metrics, map[string]float64{"mean": total / float64(n)})
	}
}

func (x *outcomes) attempts() int {
	n := 1
	for _, o := range x.trials {
		n = max(n, o.Cell.Attempt)
	}
	return n
}

func (x *outcomes) agents() []map[string]any {
	names, groups := x.groups()
	list := []map[string]any{}
	for _, name := range names {
		a := groups[name][0].Cell.Agent
		list = append(list, map[string]any{"name": a.Title(), "model_name": orNull(a.Model)})
	}
	return list
}
