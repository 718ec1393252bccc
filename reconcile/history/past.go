package history

import (
	"cmp"
	"slices"
	"strings"

	"github.com/assayd/assayd/reconcile/plan"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/trial"
)

// How much of the past an estimate is made from. It is read for each agent.
const (
	pastTrials = 500  // of an agent with a model, the latest ones
	pastAll    = 5000 // of all agents together
)

// Past reads what agents have done before that the work is for, as far as it counts. It costs the same whatever else the
// store has.
func Past(tx *store.Tx, w plan.Work) (past []plan.Past, err error) {
	type agent struct{ title, model string }
	var agents []agent
	for _, s := range w.Shares {
		agents = append(agents, agent{s.Agent, s.Model})
	}
	slices.SortFunc(agents, func(a, b agent) int {
		return cmp.Or(strings.Compare(a.title, b.title), strings.Compare(a.model, b.model))
	})
	agents = slices.Compact(agents)
	agents = agents[:min(len(agents), pastAll/10)]
	for _, a := range agents {
		cells, err := tx.EndedCellsOf(a.title, a.model, min(pastTrials, pastAll/len(agents)))
		if err != nil {
			return nil, err
		}
		for _, c := range cells {
			if !trial.Status(c.Status).Counts() || c.Started.IsZero() || c.Ended.IsZero() {
				continue
			}
			past = append(past, plan.Past{
				Task: plan.TaskAddress(c.Benchmark, c.Task), Benchmark: c.Benchmark, Agent: a.title, Model: a.model,
				Worked: max(0, c.Ended.Sub(c.Started)), Judged: max(0, c.Finished.Sub(c.Ended)), USD: c.USD,
			})
		}
	}
	return past, nil
}
