package reconcile

import (
	"context"
	"slices"
	"time"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile/control"
	"github.com/assayd/assayd/reconcile/miningspec"
	"github.com/assayd/assayd/reconcile/plan"
	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/mining"
)

// newMinings are the mining specs, carried out beside the loop.
func (r *Reconciler) newMinings() *miningspec.Minings {
	return miningspec.New(miningspec.Options{
		Store: r.o.Store, Mined: r.o.Config.Mined, Log: r.o.Log, Miner: r.miner, Spec: r.specs.Mining, Stream: r.specs.Stream,
		Place: func(address string) control.Place { return placeOf(r, address) },
		Held: func(spec *config.Mining) string {
			set, _ := r.Desk.Holds()
			return whyHeld(set, spec)
		},
		Beside: func(work func(context.Context)) context.CancelFunc {
			ctx, stop := context.WithCancel(r.life)
			r.drivers.Go(func() {
				defer stop()
				work(ctx)
			})
			return stop
		},
		Do:   func(f func()) error { return r.do(r.life, f) }, // also while the spec is edited
		Note: r.note, Grown: r.grown,
		Due: func(address string) {
			r.shown.show(address)
			r.queue.Add(address, r.now())
		},
	})
}

// miner is miningspec.Options.Miner.
func (r *Reconciler) miner(spec config.Mining) (mining.Options, error) {
	o, err := r.o.Mining(spec)
	o.Gateway, o.Images = r.o.Host.Gateway, r.o.Host.Images
	o.Room, o.Judge, o.Printed = r.Room, r.JudgePatch, r.Printed
	o.Begin = func(ctx context.Context) error { return mayBegin(ctx, r, spec.Address()) }
	o.Waitable = func(err error) bool { return container.Unavailable(err) || container.Passes(err) }
	return o, err
}

// adoptMinings has every mining spec looked at, those that are gone too.
func (r *Reconciler) adoptMinings(ctx context.Context, set *config.Set, now time.Time) {
	gone := r.minings.Declare(ctx, set)
	for _, m := range set.Blocks.Minings {
		delete(r.gone, m.Address())
		r.queue.Add(m.Address(), now)
	}
	for _, address := range gone {
		r.miss(address, now)
	}
}

// reconcileMining makes one pass over a mining spec: it is begun, begun anew, or stopped.
func (r *Reconciler) reconcileMining(ctx context.Context, address string) error {
	switch {
	case r.specs.Mining(address) != nil:
		return r.minings.Look(ctx, address, r.draining == nil)
	case !r.minings.Works(address):
		r.minings.Forget(address)
		return r.forget(ctx, address)
	case !r.graced(address):
		r.minings.Stop(address)
	}
	return nil
}

// graced reports whether a block is gone only for so short that it may come back, and says so.
func (r *Reconciler) graced(address string) bool {
	until := r.gone[address].Add(plan.RemovalGrace)
	if !r.now().Before(until) {
		return false
	}
	r.note(address, "the block is gone; it ends at "+plan.Stamp(r.line.Wall(until)))
	r.queue.Add(address, until)
	return true
}

// grown has the runs know of the tasks that take them of a mining spec.
func (r *Reconciler) grown(name string) {
	if r.specs.Set() == nil {
		return
	}
	compiler := plan.NewCompiler(r.specs.Set())
	for i := range r.specs.Set().Blocks.Runs {
		run := &r.specs.Set().Blocks.Runs[i]
		if !slices.ContainsFunc(run.Tasks, func(ref config.Ref) bool { return ref.Kind == "mining" && ref.Name == name }) {
			continue
		}
		address := run.Address()
		var d *plan.Run
		var err error
		if was := r.desired[address]; r.contents.Stale(address) == nil && (was == nil || was.MadeFrom(r.specs.Set())) {
			d, err = compiler.Grow(was, run)
		} else {
			d, err = r.contents.Again(r.life, r.specs.Set(), run)
		}
		if err != nil {
			r.o.Log.Error("compile", "spec", address, "error", err)
			continue
		}
		r.desired[address] = d
		r.shown.show(address)
		r.queue.Add(address, r.now())
	}
}
