package reconcile

import (
	"context"
	"time"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile/plan"
	"github.com/assayd/assayd/reconcile/store"
)

func firedKey(address string) string    { return "fired/" + address }
func scheduleKey(address string) string { return "schedule/" + address }

// settleSchedules remembers since when each schedule counts: firings from before it was
// accepted were not missed.
func settleSchedules(tx *store.Tx, set *config.Set, moved func(config.Block) bool, now time.Time) error {
	for _, run := range set.Blocks.Runs {
		if !moved(run.Block) {
			continue
		}
		key := scheduleKey(run.Address())
		old, err := tx.Meta(key)
		if err != nil {
			return err
		}
		if old == run.Schedule {
			continue
		}
		if err := tx.PutMeta(key, run.Schedule); err != nil {
			return err
		}
		if err := tx.PutMeta(firedKey(run.Address()), plan.Stamp(now)); err != nil {
			return err
		}
	}
	return nil
}

type runSkipped struct {
	Fired time.Time `json:"fired"`
	Cause string    `json:"cause"`
}

// skip records a firing that nothing follows.
func (r *Reconciler) skip(ctx context.Context, address string, a plan.Action) error {
	r.o.Log.Warn("firing skipped", "spec", address, "cause", a.Cause)
	r.queue.add(address, r.now()) // for the firing after this one
	return r.o.Store.Do(ctx, func(tx *store.Tx) error {
		if err := tx.PutMeta(firedKey(address), plan.Stamp(a.At)); err != nil {
			return err
		}
		_, err := tx.AppendLine(r.stream(address), r.envelope(address, "run.skipped", a.Execution), runSkipped{a.At, a.Cause})
		return err
	})
}

// recount lets the firings of a schedule count from now on.
func (r *Reconciler) recount(ctx context.Context, address string, a plan.Action) error {
	r.o.Log.Warn("the schedule counts from now on", "spec", address, "cause", a.Cause)
	r.queue.add(address, r.now()) // for the firing after this one
	return r.o.Store.Do(ctx, func(tx *store.Tx) error { return tx.PutMeta(firedKey(address), plan.Stamp(a.At)) })
}
