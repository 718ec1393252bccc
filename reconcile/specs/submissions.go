package specs

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/assayd/assayd/config"
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

// Submit adds files to those that are read, as a set of their own beside the watched ones, and returns the addresses
// of the runs and mining specs they declare and what is wrong with them. If anything is, or if they declare neither,
// nothing changes, and they are not added.
func (s *Source) Submit(ctx context.Context, paths []string) (addresses []string, ds config.Diagnostics, added bool, err error) {
	previous, err := s.Accepted(ctx)
	if err != nil {
		return nil, nil, false, err
	}
	all, err := s.closed(ctx, previous)
	if err != nil {
		return nil, nil, false, err
	}
	all = slices.DeleteFunc(all, func(sub submission) bool { return subset(sub.Paths, paths) })
	all = append(all, submission{Paths: paths})
	set := s.rehearse(previous, all)
	addresses, ds = addressesOf(set, paths), complaintsOf(set, paths)
	if ds.HasErrors() || len(addresses) == 0 {
		return addresses, ds, false, nil
	}
	if err := s.putSubmissions(ctx, all); err != nil {
		return addresses, ds, false, err
	}
	s.answered = paths
	s.Rescan(ctx, Among(paths)) // who hands a file in means its folders as they are now
	s.answered = nil
	return addressesOf(s.set, paths), complaintsOf(s.set, paths), true, nil
}

// Withdraw takes files back that were handed in: what they declare and no other file does
// is gone at once. Nothing is waited for as when a file vanishes.
func (s *Source) Withdraw(ctx context.Context, paths []string) error {
	all, err := s.submissions(ctx)
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(sub submission) bool { return subset(sub.Paths, paths) })
	if err := s.putSubmissions(ctx, all); err != nil {
		return err
	}
	for _, path := range paths {
		s.deletions.Gone(path)
	}
	s.Rescan(ctx, nil)
	return nil
}

// rehearse compiles what there would be with these submissions.
func (s *Source) rehearse(previous config.Previous, all []submission) *config.Set {
	release, known := s.Hold()
	defer release()
	found, emptied, _ := s.scanRoots(previous, known)
	looks := s.deletions.Quiet()
	inputs, _ := looks.Settle(previous, withSubmissions(found, all), emptied, time.Now())
	return config.Load(inputs, previous, s.InLoop())
}

// Rehearsed is what there would be if some files were as somebody has them.
type Rehearsed struct {
	Set         *config.Set
	Diagnostics config.Diagnostics      // of these files
	Texts       map[string]config.Input // these files, by path
}

// Rehearse compiles what there would be if these were the files, in the way of o, and calls use with it while the
// checkout is held. Nothing is stored or accepted.
func (s *Source) Rehearse(ctx context.Context, inputs []config.Input, o config.Options, use func(Rehearsed) error) error {
	previous, err := s.Accepted(ctx)
	if err != nil {
		return err
	}
	var paths []string
	for _, in := range inputs {
		paths = append(paths, in.Path)
	}
	o.Fresh = Among(paths)
	handedIn, err := s.submissions(ctx)
	if err != nil {
		return err
	}
	release, known := s.Hold()
	defer release()
	found, _, _ := s.scan(previous, handedIn, known)
	set := config.Load(merged(found, inputs), previous, o)
	return use(Rehearsed{Set: set, Diagnostics: complaintsOf(set, paths), Texts: byPath(inputs)})
}

// merged replaces inputs by those of the same path. What their paths may name stays.
func merged(base, over []config.Input) []config.Input {
	out := slices.Clone(over)
	for _, i := range base {
		if at := slices.IndexFunc(over, func(o config.Input) bool { return o.Path == i.Path }); at >= 0 {
			out[at].Root, out[at].Named = i.Root, i.Named
			continue
		}
		out = append(out, i)
	}
	return out
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
	for _, sub := range all {
		if !sub.Over {
			add(sub.Paths, config.Read)
		}
	}
	for _, sub := range all {
		add(sub.Paths, func(path string) config.Input {
			return config.Input{Path: path, Display: path, Root: filepath.Dir(path), Named: true, Kept: true}
		})
	}
	return inputs
}

// closeSubmissions notes which submissions are over, before a daemon takes up the others.
func (s *Source) closeSubmissions(ctx context.Context) error {
	previous, err := s.Accepted(ctx)
	if err != nil {
		return err
	}
	all, err := s.closed(ctx, previous)
	if err != nil {
		return err
	}
	if err := s.putSubmissions(ctx, all); err != nil {
		return err
	}
	s.previous = previous // for the first look
	return nil
}

// closed returns the submissions as they are now. One of which nothing is left in force
// is dropped.
func (s *Source) closed(ctx context.Context, previous config.Previous) (all []submission, err error) {
	if all, err = s.submissions(ctx); err != nil {
		return nil, err
	}
	for i, sub := range all {
		open, err := s.open(ctx, previous, sub)
		if err != nil {
			return nil, err
		}
		all[i].Over = sub.Over || !open
	}
	return slices.DeleteFunc(all, func(sub submission) bool {
		return !slices.ContainsFunc(sub.Paths, func(path string) bool {
			blocks := previous[path].Blocks
			return len(blocks.Addresses()) > 0
		})
	}), nil
}

// open reports whether a submission has a run or a mining spec that has not come to its end.
func (s *Source) open(ctx context.Context, previous config.Previous, sub submission) (bool, error) {
	for _, path := range sub.Paths {
		if open, err := s.o.Open(ctx, previous[path].Blocks); open || err != nil {
			return open, err
		}
	}
	return false, nil
}

const submissionsKey = "submissions"

func (s *Source) submissions(ctx context.Context) (all []submission, err error) {
	err = s.o.Store.View(ctx, func(tx *store.Tx) error {
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

func (s *Source) putSubmissions(ctx context.Context, all []submission) error {
	text, err := json.Marshal(all)
	if err != nil {
		return err
	}
	return s.o.Store.Do(ctx, func(tx *store.Tx) error { return tx.PutMeta(submissionsKey, string(text)) })
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
