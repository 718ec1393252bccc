package reconcile

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/assayd/assayd/reconcile/cellindex"
	"github.com/assayd/assayd/reconcile/history"
	"github.com/assayd/assayd/reconcile/plan"
	"github.com/assayd/assayd/reconcile/store"
)

// observation is what was observed of one run, or why it could not be read.
type observation struct {
	plan.Worklist
	err error
}

// observe reads what exists of some runs, in one transaction.
func (r *Reconciler) observe(ctx context.Context, addresses []string) []observation {
	all := make([]observation, len(addresses))
	err := r.o.Store.View(ctx, func(tx *store.Tx) error {
		for i, address := range addresses {
			o, err := r.latest(tx, address)
			if err == nil {
				all[i].Worklist, err = r.cells.Worklist(tx, address, o)
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

// observeOne reads what exists of a run. Of the trials it has those that ask for something.
func (r *Reconciler) observeOne(ctx context.Context, address string) (plan.Observed, error) {
	seen := r.observe(ctx, []string{address})[0]
	return seen.Observed, seen.err
}

// observeAll reads what exists of a run, with all trials of its execution.
func (r *Reconciler) observeAll(ctx context.Context, address string) (o plan.Observed, err error) {
	err = r.o.Store.View(ctx, func(tx *store.Tx) error {
		if o, err = r.latest(tx, address); err != nil || o.Execution == nil {
			return err
		}
		o.Trials, err = r.cells.All(tx, address, o.Execution.N)
		return err
	})
	return o, err
}

// latest is what exists of a run, but for the trials of its latest execution.
func (r *Reconciler) latest(tx *store.Tx, address string) (plan.Observed, error) {
	o := plan.Observed{Rerun: r.rerun[address], Stale: r.contents.Stale(address), StaleSince: r.contents.Since(address), Hold: heldOf(r, address, r.desired[address])}
	if since, gone := r.gone[address]; gone {
		o.GoneSince = r.line.Wall(since)
	}
	var err error
	if d := r.desired[address]; d == nil || d.Schedule != nil {
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

// driven is cellindex.Options.Driven.
func (r *Reconciler) driven(id string) (cellindex.Driven, bool) {
	slot, cancelled, ok := r.trials.Driven(id)
	return cellindex.Driven{Slot: slot, Cancelled: cancelled}, ok
}
