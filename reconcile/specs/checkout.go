package specs

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile/query"
	"github.com/assayd/assayd/reconcile/specfiles"
)

// Checkout is a watched root whose files another part of this process replaces, a commit at
// a time.
type Checkout struct {
	Root string
	// Hold keeps the files as they are until release; not while they are being replaced, nor
	// where half of them were.
	Hold func() (release func(), ok bool)
	// Commit is what the files are of, "" before the first one.
	Commit func() string
	Status func() query.GitStatus
}

// ChangedBy chooses the files to be read anew when a commit is in the place of the checkout, and has the folders copied
// that they name. changed are the paths that the commit changed, absolute; nil is all. Any goroutine may call it.
func (s *Source) ChangedBy(ctx context.Context, changed []string) (fresh func(path string) bool, err error) {
	root := s.o.Checkout.Root
	fresh = func(path string) bool { return below(path, root) }
	if changed != nil && !hasData(changed) { // folders that specs name have not changed
		touched := map[string]bool{}
		for _, path := range changed {
			touched[path] = true
		}
		fresh = func(path string) bool { return touched[path] }
	}
	inputs := slices.DeleteFunc(config.Scan(root, nil, s.o.Config).Inputs, func(in config.Input) bool { return !fresh(in.Path) })
	return fresh, s.Prepack(ctx, inputs)
}

// ReadCheckout reads the files of the checkout that ChangedBy chose, and returns all that is wrong with the checkout.
// Nobody is writing such files any more, and those that are missing are gone.
func (s *Source) ReadCheckout(ctx context.Context, fresh func(path string) bool) (ds config.Diagnostics, err error) {
	root := s.o.Checkout.Root
	s.dismiss(root)
	s.Rescan(ctx, fresh)
	if s.set == nil {
		return nil, errors.New("the specs cannot be looked at")
	}
	for _, f := range s.set.Files {
		if below(f.Path, root) {
			ds = append(ds, f.Diagnostics...)
		}
	}
	return ds, nil
}

func hasData(paths []string) bool {
	for _, path := range paths {
		if filepath.Ext(path) != ".hcl" {
			return true
		}
	}
	return false
}

// dismiss counts the accepted files of a root that are not there as gone at once, unless
// they are most of them: then somebody may have pushed by mistake.
func (s *Source) dismiss(root string) {
	var known, missing []string
	for path, c := range s.previous {
		if c.Root != root {
			continue
		}
		known = append(known, path)
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
			missing = append(missing, path)
		}
	}
	if specfiles.Most(len(missing), len(known)) {
		return
	}
	for _, path := range missing {
		s.deletions.Gone(path)
	}
}

// Hold keeps the checkout as it is for a look at it; ok is false while nothing is
// known of it. Any goroutine may call it.
func (s *Source) Hold() (release func(), ok bool) {
	if s.o.Checkout == nil {
		return func() {}, true
	}
	if release, ok = s.o.Checkout.Hold(); !ok {
		return func() {}, false
	}
	return release, true
}

// unknown are the accepted files of the checkout, left as they are without a look at them.
func unknown(root string, previous config.Previous) (inputs []config.Input) {
	for path, c := range previous {
		if c.Root == root {
			inputs = append(inputs, config.Input{Path: path, Display: path, Root: root, Kept: true})
		}
	}
	return inputs
}

// CommitOf is the commit that a file is of, "" where it is of none. Any goroutine may call it.
func (s *Source) CommitOf(path string) string {
	if s.o.Checkout == nil || !below(path, s.o.Checkout.Root) {
		return ""
	}
	return s.o.Checkout.Commit()
}

func below(path, root string) bool { return strings.HasPrefix(path, root+"/") }
