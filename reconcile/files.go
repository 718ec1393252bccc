package reconcile

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile/ledger"
	"github.com/assayd/assayd/reconcile/plan"
	"github.com/assayd/assayd/reconcile/preview"
	"github.com/assayd/assayd/reconcile/query"
	"github.com/assayd/assayd/reconcile/specs"
)

// Fetched has files looked at whose datasets have come.
func (r *Reconciler) Fetched(ctx context.Context, paths []string) error {
	return r.do(ctx, func() { r.specs.Rescan(ctx, specs.Among(paths)) })
}

// Roots are the watched folders.
func (r *Reconciler) Roots() []string { return r.specs.Roots() }

// Took has the files of the checkout read, now that a commit is in its place, and returns
// all that is wrong with them. changed are the paths that the commit changed, absolute; nil
// is all. Nobody is writing such files any more, and those that are missing are gone.
func (r *Reconciler) Took(ctx context.Context, changed []string) (ds config.Diagnostics, err error) {
	fresh, err := r.specs.Taken(ctx, changed)
	if err != nil {
		return nil, err
	}
	err = r.command(ctx, func() (err error) {
		ds, err = r.specs.Take(ctx, fresh)
		return err
	})
	return ds, err
}

// Submit adds files to the desired state, as a set of their own beside the watched ones,
// and returns the addresses of the runs and mining specs they declare and what is wrong with
// them. If anything is, or if they declare neither, nothing changes.
func (r *Reconciler) Submit(ctx context.Context, paths []string) (addresses []string, ds config.Diagnostics, err error) {
	if err := r.Fetch(ctx, paths, func(query.Fetch) {}); err != nil {
		return nil, nil, err
	}
	inputs, err := config.ReadAll(paths)
	if err == nil {
		err = r.specs.Prepack(ctx, inputs)
	}
	if err != nil {
		return nil, nil, err
	}
	r.lookAtImages(ctx)
	err = r.ask(ctx, func() (err error) {
		var added bool
		if addresses, ds, added, err = r.specs.Submit(ctx, paths); err != nil || !added {
			return err
		}
		return r.revive(ctx, addresses)
	})
	return addresses, ds, err
}

// Withdraw takes files back that were handed in: what they declare and no other file does
// is gone at once. Nothing is waited for as when a file vanishes.
func (r *Reconciler) Withdraw(ctx context.Context, paths []string) error {
	return r.change(ctx, func() error { return r.specs.Withdraw(ctx, paths) })
}

// Preview says what would be done if these were the files.
func (r *Reconciler) Preview(ctx context.Context, inputs []config.Input) (p preview.Previewed, ds config.Diagnostics, err error) {
	r.lookAtImages(ctx)
	named := r.specs.DigestsOf(inputs)
	err = r.command(ctx, func() error {
		o := r.o.Config
		o.Snapshot = named // nothing is stored
		if r.o.Datasets.Peek != nil {
			o.Import = r.o.Datasets.Peek
		}
		there, err := r.specs.Rehearse(ctx, inputs, o)
		if err != nil {
			return err
		}
		ds = there.Diagnostics
		p, err = r.previews.Of(ctx, there.Set, there.Texts)
		return err
	})
	return p, ds, err
}

// anyOpen is specs.Options.Open.
func (r *Reconciler) anyOpen(ctx context.Context, blocks config.Blocks) (bool, error) {
	for _, m := range blocks.Minings {
		state, err := ledger.MiningStateOf(ctx, r.o.Store, m.Address())
		if err != nil || state.Generation != m.Generation || !state.Over && !state.Cancelled {
			return err == nil, err
		}
	}
	for _, run := range blocks.Runs {
		o, err := r.observeOne(ctx, run.Address())
		if err != nil {
			return false, err
		}
		finished := o.Execution != nil && o.Execution.Finished && !slices.ContainsFunc(o.Trials, plan.Trial.Running)
		if len(run.Unsupported) == 0 && (run.Schedule != "" || !finished) {
			return true, nil
		}
	}
	return false, nil
}

// adopt is specs.Options.Adopt.
func (r *Reconciler) adopt(ctx context.Context, set *config.Set, since specs.Change) error {
	r.shown.showAll()
	now := r.now()
	r.adoptMinings(ctx, set, now)
	desired, err := r.contents.Runs(ctx, set, r.desired, since.Before, plan.Unchanged{Last: since.Last, Changed: since.Files})
	if err != nil {
		return fmt.Errorf("pin the content of executions: %w", err)
	}
	for address, d := range desired {
		if _, gone := r.gone[address]; gone || d != r.desired[address] {
			delete(r.gone, address)
			r.queue.Add(address, now)
		}
	}
	for address := range r.desired {
		if desired[address] == nil {
			r.miss(address, now)
		}
	}
	r.desired = desired
	r.Desk.Nudge() // a file may hold a mining spec back, or not any more
	return nil
}

// miss notes that no file declares a spec any more.
func (r *Reconciler) miss(address string, now time.Time) {
	if _, ok := r.gone[address]; !ok {
		r.gone[address] = now
	}
	r.shown.show(address)
	r.queue.Add(address, now)
}
