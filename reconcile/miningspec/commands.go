package miningspec

import (
	"context"
	"errors"
	"fmt"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile/control"
	"github.com/assayd/assayd/reconcile/ledger"
	"github.com/assayd/assayd/reconcile/request"
	"github.com/assayd/assayd/reconcile/store"
)

// Cancel ends the present work for a spec; it begins again when the spec is edited, or by Rerun. It returns
// request.ErrNothing where there is nothing to end.
func (m *Minings) Cancel(ctx context.Context, a control.Ask) (c control.Changed, err error) {
	address := a.Target
	spec, l := m.o.Spec(address), m.live[address]
	state, err := ledger.MiningStateOf(ctx, m.o.Store, address)
	if err != nil {
		return c, err
	}
	c = control.Changed{Target: address, Changed: true, State: control.Cancelled, Says: address + " is cancelled"}
	switch {
	case spec != nil && state.Cancelled && state.Done(spec.Generation):
		c.Changed = false
		return c, nil
	case spec == nil || l == nil && state.Done(spec.Generation):
		return c, fmt.Errorf("cancel %s: %w", address, request.ErrNothing)
	case a.DryRun:
		return c, nil
	}
	return c, m.cancel(ctx, a, *spec)
}

func (m *Minings) cancel(ctx context.Context, a control.Ask, spec config.Mining) error {
	address := a.Target
	record := control.NewRecord(ctx, control.Cancel, address)
	record.Reason = a.Reason
	if err := m.o.Store.Do(ctx, func(tx *store.Tx) error {
		return errors.Join(ledger.PutMiningState(tx, address, ledger.MiningState{Generation: spec.Generation, Cancelled: true}),
			record.Append(tx, m.o.Place(address)))
	}); err != nil {
		return err
	}
	if l := m.live[address]; l != nil { // else it has not begun yet
		l.stop()
	}
	m.o.Note(address, "")
	m.over(address, true)
	return nil
}

// Revive has a spec go on that a user cancelled.
func (m *Minings) Revive(ctx context.Context, address string) error {
	state, err := ledger.MiningStateOf(ctx, m.o.Store, address)
	if err != nil || !state.Cancelled {
		return err
	}
	return m.rerun(ctx, address, nil)
}

// Rerun has a spec that is over read its source again, as a user asks. It returns a *request.Conflict where it cannot.
func (m *Minings) Rerun(ctx context.Context, address string) error {
	record := control.NewRecord(ctx, control.Rerun, address)
	return m.rerun(ctx, address, &record)
}

func (m *Minings) rerun(ctx context.Context, address string, asked *control.Record) error {
	spec := m.o.Spec(address)
	switch {
	case spec == nil:
		return request.Conflictf("rerun %s: no file declares it", address)
	case m.Works(address):
		return request.Conflictf("rerun %s: it is at work; cancel it or wait for its end", address)
	}
	if err := m.renew(ctx, *spec, ledger.MiningState{Over: true}, asked); err != nil {
		return err
	}
	m.o.Due(address)
	return nil
}
