package query

import (
	"context"
	"strings"

	"github.com/assayd/assayd/reconcile/history"
	"github.com/assayd/assayd/reconcile/request"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/reconcile/summary"
)

// sideNamed takes the name of a side apart: an execution as for Report, and behind a / one of its agents.
func sideNamed(name string) (execution, agent string) {
	execution, agent, _ = strings.Cut(strings.TrimSpace(name), "/")
	return execution, agent
}

// Pairwise compares two to summary.MaxSides sides, each with each. A side is named run.nightly, run.nightly.e2, or with
// one of its agents run.nightly.e2/codex.
func (r *Reader) Pairwise(ctx context.Context, names []string) ([]summary.Pairwise, error) {
	if len(names) < 2 || len(names) > summary.MaxSides {
		return nil, request.Mistakef("%d sides: two to %d can be compared", len(names), summary.MaxSides)
	}
	done, err := r.compares(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	known := map[doneOf]summary.Execution{}
	var sides []summary.Asked
	for _, name := range names {
		execution, agent := sideNamed(name)
		of, err := r.executionNamed(ctx, execution)
		if err != nil {
			return nil, err
		}
		d, read := known[of]
		if !read {
			if d, err = r.doing(ctx, execution); err != nil {
				return nil, err
			}
			known[of] = d
		}
		sides = append(sides, summary.Asked{Execution: d, Agent: agent})
	}
	return summary.ComparePairwise(sides)
}

// compares waits until no other comparison is made: the outcomes of several executions take memory.
func (r *Reader) compares(ctx context.Context) (done func(), err error) {
	select {
	case r.comparing <- struct{}{}:
		return func() { <-r.comparing }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// maxAttempts bounds the trials that a side has at one task.
const maxAttempts = 200

// SideTrials are the trials that a side, named as for Pairwise, has at a task, in the order in which they began. The task has
// its benchmark before a dot, as comparisons name it. Without any it is an ErrUnknown.
func (r *Reader) SideTrials(ctx context.Context, side, task string) (trials []CellInfo, err error) {
	execution, agent := sideNamed(side)
	of, err := r.executionNamed(ctx, execution)
	if err != nil {
		return nil, err
	}
	name := task
	if benchmark, rest, ok := strings.Cut(task, "."); ok {
		name = benchmark + "/" + rest
	}
	err = r.o.Store.View(ctx, func(tx *store.Tx) error {
		asked := store.CellQuery{Spec: of.address, Execution: of.n, Task: name, Limit: maxAttempts, Agent: agent}
		cells, err := tx.CellsOf(asked)
		if at := strings.LastIndex(agent, " "); err == nil && len(cells) == 0 && at > 0 { // its label, and its model where it has several
			asked.Agent, asked.Model = agent[:at], agent[at+1:]
			cells, err = tx.CellsOf(asked)
		}
		for _, c := range cells {
			if c.State != history.StateSuperseded {
				trials = append(trials, cellInfo(c))
			}
		}
		return err
	})
	if err == nil && len(trials) == 0 {
		err = history.Unknown("%s has no trial at %s", side, task)
	}
	return trials, err
}
