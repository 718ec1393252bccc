package reconcile

import (
	"context"

	"github.com/assayd/assayd/reconcile/history"
	"github.com/assayd/assayd/reconcile/plan"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/trial"
)

// supersede marks an ended trial and records why, or takes the mark away: the record of its
// verdict is then written again, and the last record of a trial says whether it counts.
func (r *Reconciler) supersede(ctx context.Context, address string, a plan.Action) error {
	r.Foreign.Stale(address)
	r.cells.Touch(address, a.Trial)
	err := r.o.Store.Do(ctx, func(tx *store.Tx) error {
		row, err := tx.Trial(a.Trial)
		if err != nil {
			return err
		}
		s, err := history.StateOf(row)
		if err != nil || s.Superseded() == (a.Kind == plan.Supersede) {
			return err
		}
		if err := history.Reopen(tx, address); err != nil { // its summary is another one now
			return err
		}
		if a.Kind == plan.Supersede {
			return history.MarkSuperseded(tx, row, s, trial.Superseded{Trial: a.Trial, By: a.By, Because: a.Cause})
		}
		s.Replaced = nil
		if err := history.PutState(tx, row, s); err != nil {
			return err
		}
		_, err = tx.AppendLine(store.StreamRef{Spec: address}, history.Envelope("trial.finished", s), s.Result)
		return err
	})
	if err == nil {
		r.queue.Add(address, r.now())
		r.Retention.Changed()
	}
	return err
}
