package specs

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"reflect"
	"slices"
	"time"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile/specfiles"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/fault"
)

// Rescan reads the files, accepts what is valid, and has every run looked at that may be
// touched by it. Files for which fresh holds are compiled, and their contexts read, anew
// also when their text is unchanged; nil = none. It sets when to look again by itself. A look
// that fails changes nothing: no file counts as missed by it.
func (s *Source) Rescan(ctx context.Context, fresh func(path string) bool) {
	s.again = time.Now().Add(time.Second) // unless all goes well
	err := s.lookOnce(ctx, fresh)
	switch {
	case err == nil:
		s.blind = ""
	case ctx.Err() == nil:
		s.blind = err.Error()
		s.o.Log.Error("look at the specs", "error", err)
	}
}

func (s *Source) lookOnce(ctx context.Context, fresh func(path string) bool) error {
	if s.previous == nil {
		if err := s.closeSubmissions(ctx); err != nil {
			return err
		}
	}
	previous := s.previous
	handedIn, err := s.submissions(ctx)
	if err != nil {
		return fmt.Errorf("read which files were handed in: %w", err)
	}
	release, known := s.Hold()
	defer release()
	s.scanned = specfiles.ScanCache{}
	found, emptied, sights := s.scan(previous, handedIn, known)
	inputs, again := s.deletions.Settle(previous, found, emptied, time.Now())
	sum := fingerprint(inputs)
	if s.set != nil && sum == s.seen && fresh == nil && !s.set.Diagnostics.HasErrors() {
		s.again = again
		s.settled(sights)
		return nil // nothing to compile; a spec with an error may be missing what has come since
	}
	o := s.InLoop()
	o.Fresh = fresh
	set, settled := s.debounce.Load(inputs, previous, s.whole(fresh), o, time.Now())
	if !settled.IsZero() {
		sum = [sha256.Size]byte{} // what was held back is compiled when it has settled
		again = specfiles.Sooner(again, settled)
	}
	if s.set == nil || fresh != nil || !reflect.DeepEqual(s.set, set) {
		changed := changedFiles(previous, set.Accepted())
		if err := s.accept(ctx, set, changed); err != nil {
			return fmt.Errorf("accept specs: %w", err)
		}
		fault.Reached(fault.SpecsAccepted)
		s.texts = byPath(inputs)
		if err := s.adopt(ctx, set, Change{Before: previous, Files: changed}); err != nil {
			return err
		}
		s.previous = set.Accepted()
	}
	s.seen, s.again = sum, again
	s.settled(sights)
	return nil
}

// All chooses each file to be read anew.
func All(string) bool { return true }

// Among chooses some files to be read anew.
func Among(paths []string) func(string) bool {
	return func(path string) bool { return slices.Contains(paths, path) }
}

func byPath(inputs []config.Input) map[string]config.Input {
	all := make(map[string]config.Input, len(inputs))
	for _, in := range inputs {
		if !in.Kept && in.Unknown == "" && in.Refused == "" {
			all[in.Path] = in
		}
	}
	return all
}

// fingerprint identifies inputs by what they say.
func fingerprint(inputs []config.Input) [sha256.Size]byte {
	h := sha256.New()
	for _, i := range inputs {
		fmt.Fprintf(h, "%q %q %q %d\n", i.Path, i.Unknown, i.Refused, len(i.Text))
		h.Write(i.Text)
	}
	return [sha256.Size]byte(h.Sum(nil))
}

// Accepted is what was last accepted, by path, as it is stored. Any goroutine may call it.
func (s *Source) Accepted(ctx context.Context) (config.Previous, error) {
	return accepted(ctx, s.o.Store)
}

func accepted(ctx context.Context, kept *store.Store) (config.Previous, error) {
	previous := config.Previous{}
	err := kept.View(ctx, func(tx *store.Tx) error {
		rows, err := tx.Files()
		if err != nil {
			return err
		}
		for _, row := range rows {
			var c config.Compiled
			if err := json.Unmarshal(row.Compiled, &c); err != nil {
				return fmt.Errorf("read the accepted spec of %s: %w", row.Path, err)
			}
			previous[row.Path] = c
		}
		return nil
	})
	return previous, err
}

// scan lists the spec files under the watched roots and those that were handed in, and
// the roots that hold nothing at all. The checkout is only looked at where it is known.
func (s *Source) scan(previous config.Previous, handedIn []submission, known bool) (inputs []config.Input, emptied []string, sights []config.StatSnapshot) {
	inputs, emptied, sights = s.scanRoots(previous, known)
	if slices.ContainsFunc(handedIn, func(sub submission) bool { return !sub.Over }) {
		sights = nil // they lie anywhere, and are read at each look
	}
	return withSubmissions(inputs, handedIn), emptied, sights
}

// scanRoots lists the spec files under the watched roots, and the roots that hold nothing
// at all: a mount point whose file system is not there looks like that. With them comes how
// each root lay in the file system, none where not all was looked at.
func (s *Source) scanRoots(previous config.Previous, known bool) (inputs []config.Input, emptied []string, sights []config.StatSnapshot) {
	var trouble []string
	for _, root := range s.o.Roots {
		if !known && root == s.o.Checkout.Root {
			inputs = append(inputs, unknown(root, previous)...)
			sights = append(sights, config.StatSnapshot{})
			continue
		}
		found := config.Scan(root, previous, s.o.Config)
		empty := slices.ContainsFunc(found.Unknown, func(u config.Unknown) bool { return errors.Is(u.Err, config.ErrEmpty) })
		if empty {
			emptied, sights = append(emptied, root), append(sights, config.StatSnapshot{})
			continue
		}
		inputs, sights = append(inputs, found.Inputs...), append(sights, found.Snapshot)
		for _, u := range found.Unknown {
			place := u.String()
			if u.Path == root && errors.Is(u.Err, fs.ErrNotExist) {
				place += "; make the folder, or name another one"
			}
			trouble = append(trouble, place)
		}
	}
	if !slices.Equal(trouble, s.trouble) {
		s.trouble = trouble
		for _, place := range trouble {
			s.o.Log.Warn("a place for specs cannot be read; the specs that were accepted there stay", "place", place)
		}
	}
	return inputs, emptied, sights
}

// whole tells which files nobody can be writing: those that somebody asks for, and those of a
// checkout, which is looked at only when it is complete.
func (s *Source) whole(fresh func(path string) bool) func(path string) bool {
	return func(path string) bool {
		return fresh != nil && fresh(path) || s.o.Checkout != nil && below(path, s.o.Checkout.Root)
	}
}

// settled lets the files rest after a look that took all of them in: a file that is missed or
// held back, or one with an error, is looked at again without having changed.
func (s *Source) settled(sights []config.StatSnapshot) {
	if s.again.IsZero() && !s.set.Diagnostics.HasErrors() {
		s.scanned = specfiles.NewScanCache(sights, time.Now())
	}
}
