package reconcile

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile/ledger"
	"github.com/assayd/assayd/reconcile/plan"
	"github.com/assayd/assayd/reconcile/query"
	"github.com/assayd/assayd/reconcile/store"
)

// submission is a set of spec files that were handed in together rather than found under
// a root.
type submission struct {
	Paths []string // absolute
	// Over: its runs have come to their end. Its files are not read any more, so that they
	// can be edited and their names declared anew; what they said stays known.
	Over bool
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
		err = r.prepack(ctx, inputs)
	}
	if err != nil {
		return nil, nil, err
	}
	r.lookAtImages(ctx)
	err = r.ask(ctx, func() error {
		previous, err := r.accepted(ctx)
		if err != nil {
			return err
		}
		all, err := r.closed(ctx, previous)
		if err != nil {
			return err
		}
		all = slices.DeleteFunc(all, func(s submission) bool { return subset(s.Paths, paths) })
		all = append(all, submission{Paths: paths})
		set := r.rehearse(previous, all)
		addresses, ds = addressesOf(set, paths), complaintsOf(set, paths)
		if ds.HasErrors() || len(addresses) == 0 {
			return nil
		}
		if err := r.putSubmissions(ctx, all); err != nil {
			return err
		}
		r.answered = paths
		r.rescan(ctx, among(paths)) // who hands a file in means its folders as they are now
		r.answered = nil
		addresses, ds = addressesOf(r.set, paths), complaintsOf(r.set, paths)
		return r.revive(ctx, addresses)
	})
	return addresses, ds, err
}

// Withdraw takes files back that were handed in: what they declare and no other file does
// is gone at once. Nothing is waited for as when a file vanishes.
func (r *Reconciler) Withdraw(ctx context.Context, paths []string) error {
	return r.change(ctx, func() error {
		all, err := r.submissions(ctx)
		if err != nil {
			return err
		}
		all = slices.DeleteFunc(all, func(s submission) bool { return subset(s.Paths, paths) })
		if err := r.putSubmissions(ctx, all); err != nil {
			return err
		}
		for _, path := range paths {
			r.deletions.Gone(path)
		}
		r.rescan(ctx, nil)
		return nil
	})
}

// rehearse compiles what there would be with these submissions.
func (r *Reconciler) rehearse(previous config.Previous, all []submission) *config.Set {
	release, known := r.holdCheckout()
	defer release()
	found, emptied, _ := r.scanRoots(previous, known)
	looks := r.deletions.Quiet()
	inputs, _ := looks.Settle(previous, withSubmissions(found, all), emptied, time.Now())
	o := r.inLoop()
	return config.Load(inputs, previous, o)
}

// withSubmissions adds the files that were handed in to those that were found. A file of
// several submissions is read if one of them is not over.
func withSubmissions(inputs []config.Input, all []submission) []config.Input {
	there := map[string]bool{}
	for _, in := range inputs {
		there[in.Path] = true
	}
	add := func(paths []string, read func(path string) config.Input) {
		for _, path := range paths {
			if there[path] {
				continue
			}
			if in := read(path); !in.Gone {
				inputs, there[path] = append(inputs, in), true
			}
		}
	}
	for _, s := range all {
		if !s.Over {
			add(s.Paths, config.Read)
		}
	}
	for _, s := range all {
		add(s.Paths, func(path string) config.Input {
			return config.Input{Path: path, Display: path, Root: filepath.Dir(path), Named: true, Kept: true}
		})
	}
	return inputs
}

// closeSubmissions notes which submissions are over, before a daemon takes up the others.
func (r *Reconciler) closeSubmissions(ctx context.Context) error {
	previous, err := r.accepted(ctx)
	if err != nil {
		return err
	}
	all, err := r.closed(ctx, previous)
	if err != nil {
		return err
	}
	if err := r.putSubmissions(ctx, all); err != nil {
		return err
	}
	r.previous = previous // for the first look
	return nil
}

// closed returns the submissions as they are now. One of which nothing is left in force
// is dropped.
func (r *Reconciler) closed(ctx context.Context, previous config.Previous) (all []submission, err error) {
	if all, err = r.submissions(ctx); err != nil {
		return nil, err
	}
	for i, s := range all {
		open, err := r.hasOpenRun(ctx, previous, s)
		if err != nil {
			return nil, err
		}
		all[i].Over = s.Over || !open
	}
	return slices.DeleteFunc(all, func(s submission) bool {
		return !slices.ContainsFunc(s.Paths, func(path string) bool {
			blocks := previous[path].Blocks
			return len(blocks.Addresses()) > 0
		})
	}), nil
}

// hasOpenRun reports whether a submission has a run or a mining spec that has not come to its end.
func (r *Reconciler) hasOpenRun(ctx context.Context, previous config.Previous, s submission) (bool, error) {
	for _, path := range s.Paths {
		for _, m := range previous[path].Blocks.Minings {
			state, err := ledger.MiningStateOf(ctx, r.o.Store, m.Address())
			if err != nil || state.Generation != m.Generation || !state.Over && !state.Cancelled {
				return err == nil, err
			}
		}
		for _, run := range previous[path].Blocks.Runs {
			o, err := r.observeOne(ctx, run.Address())
			if err != nil {
				return false, err
			}
			finished := o.Execution != nil && o.Execution.Finished && !slices.ContainsFunc(o.Trials, plan.Trial.Running)
			if len(run.Unsupported) == 0 && (run.Schedule != "" || !finished) {
				return true, nil
			}
		}
	}
	return false, nil
}

const submissionsKey = "submissions"

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

func addressesOf(set *config.Set, paths []string) (addresses []string) {
	for _, run := range set.Blocks.Runs {
		if slices.Contains(paths, run.Path) {
			addresses = append(addresses, run.Address())
		}
	}
	for _, m := range set.Blocks.Minings {
		if slices.Contains(paths, m.Path) {
			addresses = append(addresses, m.Address())
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
