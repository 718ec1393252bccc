package reconcile

import (
	"context"
	"fmt"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile/plan"
	"github.com/assayd/assayd/reconcile/preview"
	"github.com/assayd/assayd/reconcile/query"
	"github.com/assayd/assayd/reconcile/request"
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
	fresh, err := r.specs.ChangedBy(ctx, changed)
	if err != nil {
		return nil, err
	}
	err = r.command(ctx, func() (err error) {
		ds, err = r.specs.ReadCheckout(ctx, fresh)
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
	r.images.look(ctx)
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
	r.images.look(ctx)
	named := r.specs.DigestsOf(inputs)
	err = r.command(ctx, func() error {
		o := r.o.Config
		o.Snapshot = named // nothing is stored
		if r.o.Datasets.Peek != nil {
			o.Import = r.o.Datasets.Peek
		}
		return r.specs.Rehearse(ctx, inputs, o, func(there specs.Rehearsed) (err error) {
			ds = there.Diagnostics
			p, err = r.previews.Of(ctx, there.Set, there.Texts)
			return err
		})
	})
	return p, ds, err
}

// revive goes on with what is handed in again: with `assayd run` there is no other way. What a
// user cancelled, or what other content would be judged with, begins another execution; of the
// rest the trials are tried again that the machinery failed.
func (r *Reconciler) revive(ctx context.Context, addresses []string) error {
	for _, address := range addresses {
		if plan.IsMining(address) {
			if err := r.minings.all.Revive(ctx, address); err != nil {
				return err
			}
			continue
		}
		if err := r.executions.revive(ctx, address); err != nil {
			return err
		}
	}
	return nil
}

// adopt is specs.Options.Adopt.
func (r *Reconciler) adopt(ctx context.Context, set *config.Set, since specs.Change) error {
	r.runs.shown.showAll()
	now := r.runs.now()
	r.minings.adopt(ctx, set, now)
	desired, err := r.runs.contents.Runs(ctx, set, r.runs.desired, since.Before, plan.Unchanged{Last: since.Last, Changed: since.Files})
	if err != nil {
		return fmt.Errorf("pin the content of executions: %w", err)
	}
	for address, d := range desired {
		if _, gone := r.runs.gone[address]; gone || d != r.runs.desired[address] {
			delete(r.runs.gone, address)
			r.runs.queue.Add(address, now)
		}
	}
	for address := range r.runs.desired {
		if desired[address] == nil {
			r.runs.miss(address, now)
		}
	}
	r.runs.desired = desired
	r.Desk.Nudge() // a file may hold a mining spec back, or not any more
	return nil
}

// Drain waits until no run is open, and begins no execution from then on. Mining ends where it
// is, and of a run that would grow by it, or is held, only what runs is waited for: the next daemon goes on.
func (r *Reconciler) Drain(ctx context.Context) error {
	var over chan struct{}
	if err := r.do(ctx, func() { over = r.drain.begin(ctx) }); err != nil {
		return err
	}
	select {
	case <-over:
		return nil
	case <-r.done:
		return request.ErrStopped
	case <-ctx.Done():
		return ctx.Err()
	}
}
