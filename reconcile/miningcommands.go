package reconcile

import (
	"context"
	"errors"
	"fmt"

	"github.com/assayd/assayd/reconcile/control"
	"github.com/assayd/assayd/reconcile/ledger"
	"github.com/assayd/assayd/reconcile/query"
	"github.com/assayd/assayd/reconcile/store"
)

// cancelMining ends the present work for a spec; it begins again when the spec is edited, or
// by rerun.
func (r *Reconciler) cancelMining(ctx context.Context, address string) error {
	spec, live := r.miningOf(address), r.miners[address]
	state, err := ledger.MiningStateOf(ctx, r.o.Store, address)
	if err != nil {
		return err
	}
	if spec == nil || live == nil && state.Done(spec.Generation) {
		return fmt.Errorf("cancel %s: %w", address, query.ErrNothing)
	}
	record := control.NewRecord(ctx, control.Cancel, address)
	if err := r.o.Store.Do(ctx, func(tx *store.Tx) error {
		return errors.Join(ledger.PutMiningState(tx, address, ledger.MiningState{Generation: spec.Generation, Cancelled: true}),
			record.Append(tx, placeOf(r, address)))
	}); err != nil {
		return err
	}
	if live != nil { // else it has not begun yet
		live.end()
	}
	delete(r.notes, address)
	r.shown.show(address)
	r.ends(address, true)
	return nil
}

// reviveMining has a spec go on that a user cancelled.
func (r *Reconciler) reviveMining(ctx context.Context, address string) error {
	state, err := ledger.MiningStateOf(ctx, r.o.Store, address)
	if err != nil || !state.Cancelled {
		return err
	}
	return r.rerunMining(ctx, address)
}

// rerunMining has a spec that is over read its source again.
func (r *Reconciler) rerunMining(ctx context.Context, address string, asked ...control.Record) error {
	spec := r.miningOf(address)
	switch {
	case spec == nil:
		return query.Conflictf("rerun %s: no file declares it", address)
	case r.miners[address] != nil:
		return query.Conflictf("rerun %s: it is at work; cancel it or wait for its end", address)
	}
	if err := r.renewMining(ctx, *spec, ledger.MiningState{Over: true}, asked...); err != nil {
		return err
	}
	r.queue.add(address, r.now())
	return nil
}
