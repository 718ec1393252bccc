package reconcile

import (
	"context"

	"github.com/assayd/assayd/reconcile/control"
	"github.com/assayd/assayd/reconcile/plan"
	"github.com/assayd/assayd/reconcile/request"
)

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
			c, err = r.minings.all.Cancel(ctx, a)
			return err
		}
		address, cell, err := r.resolve(ctx, a.Target)
		switch {
		case err != nil:
			return err
		case cell != "":
			c, err = r.Orders.Cancel(ctx, a)
		default:
			c, err = r.executions.cancel(ctx, address, a)
		}
		return err
	})
}
