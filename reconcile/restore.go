package reconcile

import (
	"context"

	"github.com/assayd/assayd/reconcile/history"
	"github.com/assayd/assayd/reconcile/store"
)

// restore opens again what a former daemon left in the store, before any trial goes on.
func (r *Reconciler) restore(ctx context.Context) error {
	unjudged, err := r.o.Ledger.Unjudged(ctx)
	if err != nil {
		return err
	}
	return r.trials.Restore(ctx, unjudged)
}

// orphans prepares the sweep: it has runs looked at that are open in the store and that no
// file declares, and returns the containers that stay because their trials are open.
func (r *Reconciler) orphans(ctx context.Context) (keep map[string]bool, err error) {
	open, err := history.OpenTrials(ctx, r.o.Store)
	if err != nil {
		return nil, err
	}
	keep = map[string]bool{}
	for _, s := range open {
		keep[s.Workload.Name] = true
	}
	err = r.o.Store.View(ctx, func(tx *store.Tx) error {
		executions, err := tx.OpenExecutions()
		if err != nil {
			return err
		}
		for _, e := range executions {
			if r.desired[e.Spec] == nil {
				r.miss(e.Spec, r.now())
			}
		}
		return nil
	})
	return keep, err
}
