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
		return nil, r.ask(ctx, func() error { return r.minings.all.Rerun(ctx, name) })
	}
	var address string
	if err := r.ask(ctx, func() (err error) { address, _, err = r.resolve(ctx, name); return err }); err != nil {
		return nil, err
	}
	r.fetchOf(ctx, address) // what lies elsewhere is as it is now, too
	if err := r.specs.PrepackRun(ctx, address); err != nil {
		return nil, err
	}
	r.images.look(ctx)
	err = r.ask(ctx, func() error {
		address, cell, err := r.resolve(ctx, name)
		if err != nil {
			return err
		}
		o, err := r.observer.one(ctx, address)
		if err != nil {
			return err
		}
		if r.runs.desired[address] == nil {
			return request.Conflictf("rerun %s: no file declares it", address)
		}
		if o.Execution != nil && !o.Execution.Finished {
			return request.Conflictf("rerun %s: execution e%d still runs; cancel it or wait for its end", address, o.Execution.N)
		}
		r.specs.RescanRun(ctx, address) // with content as it is now, for this run alone
		who := control.Of(ctx)
		asked := &plan.Rerun{Name: name, By: who.By, Via: string(who.Via)}
		if cell != "" {
			s, err := history.ReadTrial(ctx, r.o.Store, name)
			if err != nil {
				return err
			}
			if asked.Only = r.runs.sameSlot(address, s); asked.Only == nil {
				return request.Conflictf("rerun %s: %s no longer has this cell; rerun the whole run", name, address)
			}
		}
		differs = r.runs.contents.Stale(address)
		r.runs.rerun[address] = asked
		r.runs.due(address)
		return r.reconcile(ctx, address, r.observer.observe(ctx, []string{address})[0]) // stored before it is answered: what is only asked for ends with the daemon
	})
	return differs, err
}

// Retry tries again, in the latest execution, the trials of a run that are excluded from
// rates, or one of them. request.ErrNothing where there is none.
func (r *Reconciler) Retry(ctx context.Context, name string) (out Retried, err error) {
	if plan.IsMining(name) {
		return out, request.Mistakef("%s is a mining spec; a run or a trial can be tried again", name)
	}
	var of string
	if err := r.ask(ctx, func() (err error) { of, _, err = r.resolve(ctx, name); return err }); err != nil {
		return out, err
	}
	if err := r.specs.PrepackRun(ctx, of); err != nil {
		return out, err
	}
	err = r.ask(ctx, func() error {
		address, cell, err := r.resolve(ctx, name)
		if err != nil {
			return err
		}
		if r.runs.desired[address] == nil {
			return request.Conflictf("retry %s: no file declares %s", name, address)
		}
		r.specs.RescanRun(ctx, address)
		chosen := func(s trial.State) bool { return !s.Unwanted }
		if cell != "" {
			chosen = func(s trial.State) bool { return s.ID == name }
		}
		record := control.NewRecord(ctx, control.Retry, name)
		if out, err = r.executions.retry(ctx, address, &record, chosen); err != nil {
			return fmt.Errorf("retry %s: %w", name, err)
		}
		if len(out.Trials) == 0 {
			return &nothingToRetry{fmt.Sprintf("retry %s: no ended trial of e%d is excluded from rates; to do it once more: assayd rerun %s", name, out.Execution, name)}
		}
		return nil
	})
	return out, err
}

// fetchOf has the datasets be fetched that a run in force has tasks of.
func (r *Reconciler) fetchOf(ctx context.Context, address string) {
	set := r.specs.InForce()
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

// ask is change for what has something begin.
func (r *Reconciler) ask(ctx context.Context, f func() error) error {
	return r.change(ctx, func() error {
		if r.drain.on {
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
		if r.specs.Set() == nil {
			return fmt.Errorf("%w: %s", ErrBlind, r.specs.Blind())
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
	if r.runs.known(name) && !plan.IsMining(name) {
		return name, "", nil
	}
	return r.RunNamed(ctx, r.Snapshots.Get(), name)
}
