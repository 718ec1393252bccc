package reconcile

import (
	"context"
	"errors"
	"fmt"

	"github.com/assayd/assayd/reconcile/control"
	"github.com/assayd/assayd/reconcile/history"
	"github.com/assayd/assayd/reconcile/plan"
	"github.com/assayd/assayd/reconcile/query"
	"github.com/assayd/assayd/reconcile/request"
	"github.com/assayd/assayd/runtime/trial"
)

// Why nothing is begun or changed.
var (
	ErrBlind    = errors.New("the daemon does nothing before it has looked at the specs, which fails")
	ErrDraining = errors.New("the daemon is stopping: it finishes what runs and begins nothing")
)

// Rerun makes a new execution of a run, or of one trial's cell, with content as it is now, and
// tells how that differs from the latest execution's; nil = it does not.
func (r *Reconciler) Rerun(ctx context.Context, name string) (differs *plan.Stale, err error) {
	if plan.IsMining(name) {
		return nil, r.ask(ctx, func() error { return r.minings.Rerun(ctx, name) })
	}
	var address string
	if err := r.ask(ctx, func() (err error) { address, _, err = r.resolve(ctx, name); return err }); err != nil {
		return nil, err
	}
	r.fetchOf(ctx, address) // what lies elsewhere is as it is now, too
	if err := r.prepackRun(ctx, address); err != nil {
		return nil, err
	}
	r.lookAtImages(ctx)
	err = r.ask(ctx, func() error {
		address, cell, err := r.resolve(ctx, name)
		if err != nil {
			return err
		}
		o, err := r.observeOne(ctx, address)
		if err != nil {
			return err
		}
		if r.desired[address] == nil {
			return request.Conflictf("rerun %s: no file declares it", address)
		}
		if o.Execution != nil && !o.Execution.Finished {
			return request.Conflictf("rerun %s: execution e%d still runs; cancel it or wait for its end", address, o.Execution.N)
		}
		r.rescan(ctx, r.filesOfRun(address)) // with content as it is now, for this run alone
		who := control.Of(ctx)
		asked := &plan.Rerun{Name: name, By: who.By, Via: string(who.Via)}
		if cell != "" {
			s, err := history.ReadTrial(ctx, r.o.Store, name)
			if err != nil {
				return err
			}
			if asked.Only = r.sameSlot(address, s); asked.Only == nil {
				return request.Conflictf("rerun %s: %s no longer has this cell; rerun the whole run", name, address)
			}
		}
		differs = r.contents.stale[address]
		r.rerun[address] = asked
		r.queue.add(address, r.now())
		return r.reconcile(ctx, address, r.observe(ctx, []string{address})[0]) // stored before it is answered: what is only asked for ends with the daemon
	})
	return differs, err
}

// fetchOf has the datasets be fetched that a run in force has tasks of.
func (r *Reconciler) fetchOf(ctx context.Context, address string) {
	set := r.inForce.Load()
	if set == nil {
		return
	}
	for _, run := range set.Blocks.Runs {
		for _, ref := range run.Tasks {
			if b := set.Benchmark(ref.Name); run.Address() == address && b != nil {
				r.FetchImports(ctx, b.Imports, func(query.Fetch) {})
			}
		}
	}
}

// sameSlot is the key of the cell that a run has now where a trial's was; nil = there is none.
func (r *Reconciler) sameSlot(address string, s trial.State) (only []string) {
	now := r.contents.newest[address]
	if now == nil {
		now = r.desired[address]
	}
	if now == nil {
		return nil
	}
	for _, c := range now.Cells() {
		switch {
		case c.Key == s.Key:
			return []string{c.Key}
		case c.Slot() == plan.SlotOf(s.Cell):
			only = []string{c.Key}
		}
	}
	return only
}

// ask is change for what has something begin.
func (r *Reconciler) ask(ctx context.Context, f func() error) error {
	return r.change(ctx, func() error {
		if r.draining != nil {
			return ErrDraining
		}
		return f()
	})
}

// change is command for what does not only answer.
func (r *Reconciler) change(ctx context.Context, f func() error) error {
	if r.o.Idle {
		return request.ErrIdle
	}
	return r.command(ctx, func() error {
		if r.set == nil {
			return fmt.Errorf("%w: %s", ErrBlind, r.blind)
		}
		return f()
	})
}

func (r *Reconciler) command(ctx context.Context, f func() error) (err error) {
	var inner error
	err = r.do(ctx, func() { inner = f() })
	return errors.Join(err, inner)
}

// resolve finds the run that a name means, and the cell when it is a trial's; for the loop.
func (r *Reconciler) resolve(ctx context.Context, name string) (address, cell string, err error) {
	if _, is := r.runView(name); is && !plan.IsMining(name) {
		return name, "", nil
	}
	return r.RunNamed(ctx, r.Snapshots.Get(), name)
}
