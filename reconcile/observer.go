package reconcile

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile/history"
	"github.com/assayd/assayd/reconcile/ledger"
	"github.com/assayd/assayd/reconcile/plan"
	"github.com/assayd/assayd/reconcile/store"
)

// observer reads what exists of runs. It belongs to the loop's goroutine.
type observer struct {
	runs  *runs
	store *store.Store
	holds *holds
}

// observation is what was observed of one run, or why it could not be read.
type observation struct {
	plan.Worklist
	err error
}

// observe reads what exists of some runs, in one transaction.
func (v *observer) observe(ctx context.Context, addresses []string) []observation {
	all := make([]observation, len(addresses))
	err := v.store.View(ctx, func(tx *store.Tx) error {
		for i, address := range addresses {
			o, err := v.latest(tx, address)
			if err == nil {
				all[i].Worklist, err = v.runs.cells.Worklist(tx, address, o)
			}
			all[i].err = err
		}
		return nil
	})
	for i := range all {
		if err != nil {
			all[i].err = err
		}
	}
	return all
}

// one reads what exists of a run. Of the trials it has those that ask for something.
func (v *observer) one(ctx context.Context, address string) (plan.Observed, error) {
	seen := v.observe(ctx, []string{address})[0]
	return seen.Observed, seen.err
}

// all reads what exists of a run, with all trials of its execution.
func (v *observer) all(ctx context.Context, address string) (o plan.Observed, err error) {
	err = v.store.View(ctx, func(tx *store.Tx) error {
		if o, err = v.latest(tx, address); err != nil || o.Execution == nil {
			return err
		}
		o.Trials, err = v.runs.cells.All(tx, address, o.Execution.N)
		return err
	})
	return o, err
}

// latest is what exists of a run, but for the trials of its latest execution.
func (v *observer) latest(tx *store.Tx, address string) (plan.Observed, error) {
	o := plan.Observed{Rerun: v.runs.rerun[address], Stale: v.runs.contents.Stale(address), StaleSince: v.runs.contents.Since(address), Hold: v.holds.onRun(address, v.runs.desired[address])}
	if since, gone := v.runs.gone[address]; gone {
		o.GoneSince = v.runs.line.Wall(since)
	}
	var err error
	if d := v.runs.desired[address]; d == nil || d.Schedule != nil {
		if o.LastFired, err = lastFired(tx, address); err != nil {
			return o, err
		}
	}
	e, err := tx.LatestExecution(address)
	if errors.Is(err, store.ErrNotFound) {
		return o, nil
	}
	if err != nil {
		return o, err
	}
	o.Execution, err = history.ExecutionOf(e)
	return o, err
}

// lastFired is when a run's schedule fired last; zero = it never did.
func lastFired(tx *store.Tx, address string) (at time.Time, err error) {
	fired, err := tx.Meta(history.FiredKey(address))
	if err != nil || fired == "" {
		return at, err
	}
	if at, err = time.Parse(time.RFC3339, fired); err != nil {
		return at, fmt.Errorf("last firing of %s: %w", address, err)
	}
	return at, nil
}

// anyOpen is specs.Options.Open: it reads whether a run or mining spec has not come to its end.
func (v *observer) anyOpen(ctx context.Context, blocks config.Blocks) (bool, error) {
	for _, m := range blocks.Minings {
		state, err := ledger.MiningStateOf(ctx, v.store, m.Address())
		if err != nil || state.Generation != m.Generation || !state.Over && !state.Cancelled {
			return err == nil, err
		}
	}
	for _, run := range blocks.Runs {
		o, err := v.one(ctx, run.Address())
		if err != nil {
			return false, err
		}
		finished := o.Execution != nil && o.Execution.Finished && !slices.ContainsFunc(o.Trials, plan.Trial.Running)
		if len(run.Unsupported) == 0 && (run.Schedule != "" || !finished) {
			return true, nil
		}
	}
	return false, nil
}
