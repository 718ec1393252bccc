package reconcile

import (
	"context"
	"time"

	"github.com/assayd/assayd/reconcile/history"
	"github.com/assayd/assayd/reconcile/plan"
	"github.com/assayd/assayd/reconcile/store"
)

type runSkipped struct {
	Fired time.Time `json:"fired"`
	Cause string    `json:"cause"`
}

// skip records a firing that nothing follows.
func (r *Reconciler) skip(ctx context.Context, address string, a plan.Action) error {
	r.o.Log.Warn("firing skipped", "spec", address, "cause", a.Cause)
	r.queue.Add(address, r.now()) // for the firing after this one
	return r.o.Store.Do(ctx, func(tx *store.Tx) error {
		if err := tx.PutMeta(history.FiredKey(address), plan.Stamp(a.At)); err != nil {
			return err
		}
		_, err := tx.AppendLine(r.specs.Stream(address), r.envelope(address, "run.skipped", a.Execution), runSkipped{a.At, a.Cause})
		return err
	})
}

// recount lets the firings of a schedule count from now on.
func (r *Reconciler) recount(ctx context.Context, address string, a plan.Action) error {
	r.o.Log.Warn("the schedule counts from now on", "spec", address, "cause", a.Cause)
	r.queue.Add(address, r.now()) // for the firing after this one
	return r.o.Store.Do(ctx, func(tx *store.Tx) error { return tx.PutMeta(history.FiredKey(address), plan.Stamp(a.At)) })
}

// envelope is the envelope of a record about a run.
func (r *Reconciler) envelope(address, typ string, execution int) store.Envelope {
	e := store.Envelope{Type: typ, Spec: address, Execution: execution}
	if d := r.desired[address]; d != nil {
		e.Generation = d.Generation
	}
	return e
}
