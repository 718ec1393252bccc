package reconcile

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/assayd/assayd/reconcile/control"
	"github.com/assayd/assayd/reconcile/history"
	"github.com/assayd/assayd/reconcile/plan"
	"github.com/assayd/assayd/reconcile/request"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/clock"
	"github.com/assayd/assayd/runtime/trial"
)

// newOrders are what users ask of a reconciler's trials.
func newOrders(r *Reconciler) *control.Orders {
	return control.NewOrders(control.OrderOptions{
		Store: r.o.Store, Trial: r.stored, Again: storedState, Now: clock.Now,
		Place: func(s trial.State) control.Place { return placeIn(r, s.Spec, s.Execution) },
		Tell: func(ctx context.Context, id string, o control.Order) error {
			if o.Action == control.Cancel {
				return r.cancelTrial(ctx, plan.Action{Kind: plan.CancelTrial, Trial: id, Cause: o.String()})
			}
			if l := r.live[id]; l != nil { // else it is told as it goes on
				l.tell(o)
			}
			return nil
		},
	})
}

// StopTrial makes the time of a trial's agent be over now: what it has is judged, and the trial gets a verdict that
// says so.
func (r *Reconciler) StopTrial(ctx context.Context, a control.Ask) (c control.Changed, err error) {
	return c, r.change(ctx, func() error {
		err := r.isTrial(ctx, a.Target, "stop %s: only a trial can be stopped; to end a run: assayd cancel %[1]s")
		if err == nil {
			c, err = r.Orders.Stop(ctx, a)
		}
		return err
	})
}

// ExtendTrial moves the deadline of a trial whose agent works to a later time. What it has at the declared deadline stays
// what is reported of it.
func (r *Reconciler) ExtendTrial(ctx context.Context, m control.MoreTime) (c control.Changed, err error) {
	return c, r.change(ctx, func() error {
		err := r.isTrial(ctx, m.Target, "extend %s: only a trial has a deadline; for more time of all that begin from now on, edit the timeout of the run")
		if err == nil {
			c, err = r.Orders.Extend(ctx, m)
		}
		return err
	})
}

// isTrial fails, as a text with the target in it says, for a target that is no trial.
func (r *Reconciler) isTrial(ctx context.Context, target, otherwise string) error {
	_, cell, err := r.resolve(ctx, target)
	if err == nil && cell == "" {
		err = request.Mistakef(otherwise, target)
	}
	return err
}

// Cancel ends a run's present execution, the work for a mining spec, or one trial. It returns request.ErrNothing when
// there is no execution or the last one is over, unless that was cancelled: repeating it changes nothing.
func (r *Reconciler) Cancel(ctx context.Context, a control.Ask) (c control.Changed, err error) {
	if err := a.Check(); err != nil {
		return c, err
	}
	return c, r.change(ctx, func() error {
		if plan.IsMining(a.Target) {
			c, err = r.minings.Cancel(ctx, a)
			return err
		}
		address, cell, err := r.resolve(ctx, a.Target)
		switch {
		case err != nil:
			return err
		case cell != "":
			c, err = r.Orders.Cancel(ctx, a)
		default:
			c, err = cancelRun(ctx, r, address, a)
		}
		return err
	})
}

// cancelRun ends the present execution of a run, with a record.
func cancelRun(ctx context.Context, r *Reconciler, address string, a control.Ask) (control.Changed, error) {
	c := control.Changed{Target: address, Changed: true, State: control.Cancelling, Says: address + " is being cancelled"}
	if r.rerun[address] != nil { // it has not begun yet
		if !a.DryRun {
			delete(r.rerun, address)
			r.shown.show(address)
		}
		return c, nil
	}
	record := control.NewRecord(ctx, control.Cancel, address)
	record.Reason = a.Reason
	err := r.o.Store.Do(ctx, func(tx *store.Tx) error {
		e, err := tx.LatestExecution(address)
		if errors.Is(err, store.ErrNotFound) {
			return fmt.Errorf("cancel %s: %w", address, request.ErrNothing)
		}
		var d history.ExecutionData
		if err = errors.Join(err, json.Unmarshal(e.Data, &d)); err != nil {
			return err
		}
		switch {
		case d.Cancelled && !e.FinishedAt.IsZero():
			c.Changed, c.State, c.Says = false, control.Cancelled, fmt.Sprintf("%s: execution e%d is cancelled", address, e.N)
			return nil
		case d.Cancelled:
			c.Changed = false
			return nil
		case !e.FinishedAt.IsZero():
			return fmt.Errorf("cancel %s: %w: execution e%d is over", address, request.ErrNothing, e.N)
		case a.DryRun:
			return nil
		}
		d.Cancelled = true
		if e.Data, err = json.Marshal(d); err != nil {
			return err
		}
		return errors.Join(tx.PutExecution(e), record.Append(tx, placeIn(r, address, e.N)))
	})
	if err == nil && c.Changed && !a.DryRun {
		r.queue.add(address, r.now())
	}
	return c, err
}

// newNotes adds notes to a reconciler's runs, mining specs and trials.
func newNotes(r *Reconciler) *control.Notes {
	return control.NewNotes(control.NoteOptions{
		Store: r.o.Store, Change: r.change, Now: clock.Now,
		Place: func(ctx context.Context, target string) (control.Place, error) {
			if plan.IsMining(target) && r.miningOf(target) != nil {
				return placeOf(r, target), nil
			}
			address, cell, err := r.resolve(ctx, target)
			if err != nil || cell == "" {
				return placeOf(r, address), err
			}
			s, err := r.stored(ctx, target)
			return placeIn(r, s.Spec, s.Execution), err
		},
	})
}
