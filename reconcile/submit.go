package reconcile

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile/store"
)

// submission is a set of spec files that were handed in together rather than found under
// a root, by absolute path. It is over when each of its runs is.
type submission = []string

// Submit adds files to the desired state, as a set of their own beside the watched ones,
// and returns the addresses of the runs they declare and what is wrong with them. If
// anything is, or if they declare no run, nothing changes. A submission that is over gives
// up its names to the new one.
func (r *Reconciler) Submit(ctx context.Context, paths []string) (addresses []string, ds config.Diagnostics, err error) {
	err = r.command(ctx, func() error {
		previous, err := r.accepted(ctx)
		if err != nil {
			return err
		}
		open, over, err := r.splitSubmissions(ctx, previous)
		if err != nil {
			return err
		}
		set := r.rehearse(ctx, previous, over, paths)
		addresses, ds = runsOf(set, paths), complaintsOf(set, paths)
		if ds.HasErrors() || len(addresses) == 0 {
			return nil
		}
		over = slices.DeleteFunc(over, func(old submission) bool { return declaresAny(previous, old, declaredBy(set, paths)) })
		open = slices.DeleteFunc(open, func(old submission) bool { return subset(old, paths) })
		if err := r.putSubmissions(ctx, slices.Concat(open, over, []submission{paths})); err != nil {
			return err
		}
		r.answered = paths
		r.look(ctx, false)
		r.answered = nil
		addresses, ds = runsOf(r.set, paths), complaintsOf(r.set, paths)
		for _, address := range addresses {
			if err := r.revive(ctx, address); err != nil {
				return err
			}
		}
		return nil
	})
	return addresses, ds, err
}

// revive asks for a new execution of a run that a user cancelled: handing it in again is
// asking for it again.
func (r *Reconciler) revive(ctx context.Context, address string) error {
	o, err := r.observe(ctx, address)
	if err != nil || o.Execution == nil || !o.Execution.Cancelled || !o.Execution.Finished {
		return err
	}
	r.rerun[address] = &Rerun{}
	r.queue.add(address, time.Now())
	return nil
}

// rehearse compiles what there would be with the files and without submissions that are over.
func (r *Reconciler) rehearse(ctx context.Context, previous config.Previous, over []submission, paths []string) *config.Set {
	leaving := slices.Concat(over...)
	found, emptied := r.scan(ctx, previous)
	found = slices.DeleteFunc(found, func(i config.Input) bool {
		return slices.Contains(leaving, i.Path) && !slices.Contains(r.o.Roots, i.Root)
	})
	for _, path := range paths {
		if in := config.Read(path); !in.Gone && !slices.ContainsFunc(found, func(i config.Input) bool { return i.Path == path }) {
			found = append(found, in)
		}
	}
	looks := presence{log: slog.New(slog.DiscardHandler), missed: maps.Clone(r.presence.missed)}
	inputs, _ := looks.settle(previous, found, emptied, time.Now())
	o := r.o.Config
	o.Snapshot = nil // nothing is stored
	return config.Load(inputs, previous, o)
}

// dropSubmissions forgets the submissions that are over: those who handed them in have
// seen their end, and no daemon has to look after them any more.
func (r *Reconciler) dropSubmissions(ctx context.Context) error {
	previous, err := r.accepted(ctx)
	if err != nil {
		return err
	}
	open, over, err := r.splitSubmissions(ctx, previous)
	if err != nil || len(over) == 0 {
		return err
	}
	return r.putSubmissions(ctx, open)
}

// splitSubmissions tells submissions with a run that is still to be done from the others.
func (r *Reconciler) splitSubmissions(ctx context.Context, previous config.Previous) (open, over []submission, err error) {
	all, err := r.submissions(ctx)
	if err != nil {
		return nil, nil, err
	}
	for _, s := range all {
		todo, err := r.todo(ctx, previous, s)
		if err != nil {
			return nil, nil, err
		}
		if todo {
			open = append(open, s)
		} else {
			over = append(over, s)
		}
	}
	return open, over, nil
}

// todo reports whether a submission has a run that is not at its end.
func (r *Reconciler) todo(ctx context.Context, previous config.Previous, s submission) (bool, error) {
	for _, path := range s {
		for _, run := range previous[path].Blocks.Runs {
			o, err := r.observe(ctx, run.Address())
			if err != nil {
				return false, err
			}
			finished := o.Execution != nil && o.Execution.Finished && !slices.ContainsFunc(o.Trials, Trial.Running)
			if len(run.Unsupported) == 0 && (run.Schedule != "" || !finished) {
				return true, nil
			}
		}
	}
	return false, nil
}

// submissions are those that are desired, in the order in which they came.
func (r *Reconciler) submissions(ctx context.Context) (all []submission, err error) {
	err = r.o.Store.View(ctx, func(tx *store.Tx) error {
		text, err := tx.Meta(submissionsKey)
		if err != nil || text == "" {
			return err
		}
		if err := json.Unmarshal([]byte(text), &all); err != nil {
			return fmt.Errorf("read which files were handed in: %w", err)
		}
		return nil
	})
	return all, err
}

const submissionsKey = "submissions"

func (r *Reconciler) putSubmissions(ctx context.Context, all []submission) error {
	text, err := json.Marshal(all)
	if err != nil {
		return err
	}
	return r.o.Store.Do(ctx, func(tx *store.Tx) error { return tx.PutMeta(submissionsKey, string(text)) })
}

func subset(some, of []string) bool {
	return !slices.ContainsFunc(some, func(s string) bool { return !slices.Contains(of, s) })
}

// declaredBy returns the addresses of what the files declare in the set.
func declaredBy(set *config.Set, paths []string) (addresses []string) {
	for _, b := range set.All() {
		if slices.Contains(paths, b.Path) {
			addresses = append(addresses, b.Address())
		}
	}
	return addresses
}

// declaresAny reports whether one of the addresses is what was accepted of a submission.
func declaresAny(previous config.Previous, s submission, addresses []string) bool {
	return slices.ContainsFunc(s, func(path string) bool {
		blocks := previous[path].Blocks
		return slices.ContainsFunc(blocks.Addresses(), func(a string) bool { return slices.Contains(addresses, a) })
	})
}

func runsOf(set *config.Set, paths []string) (addresses []string) {
	for _, run := range set.Blocks.Runs {
		if slices.Contains(paths, run.Path) {
			addresses = append(addresses, run.Address())
		}
	}
	return addresses
}

func complaintsOf(set *config.Set, paths []string) (ds config.Diagnostics) {
	for _, d := range set.Diagnostics {
		if slices.Contains(paths, d.Path) {
			ds = append(ds, d)
		}
	}
	return ds
}
