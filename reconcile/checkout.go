package reconcile

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

// status is Status; nil where there is no checkout.
func (c *Checkout) status() func() query.GitStatus {
	if c == nil {
		return nil
	}
	return c.Status
}

// Took has the files of the checkout read, now that a commit is in its place, and returns
// all that is wrong with them. changed are the paths that the commit changed, absolute; nil
// is all. Nobody is writing such files any more, and those that are missing are gone.
func (r *Reconciler) Took(ctx context.Context, changed []string) (ds config.Diagnostics, err error) {
	root := r.o.Checkout.Root
	fresh := func(path string) bool { return below(path, root) }
	if changed != nil && !hasData(changed) { // folders that specs name have not changed
		touched := map[string]bool{}
		for _, path := range changed {
			touched[path] = true
		}
		fresh = func(path string) bool { return touched[path] }
	}
	inputs := slices.DeleteFunc(config.Scan(root, nil, r.o.Config).Inputs, func(in config.Input) bool { return !fresh(in.Path) })
	if err := r.prepack(ctx, inputs); err != nil {
		return nil, err
	}
	err = r.command(ctx, func() error {
		r.dismiss(root)
		r.rescan(ctx, fresh)
		if r.set == nil {
			return errors.New("the specs cannot be looked at")
		}
		for _, f := range r.set.Files {
			if below(f.Path, root) {
				ds = append(ds, f.Diagnostics...)
			}
		}
		return nil
	})
	return ds, err
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
func (r *Reconciler) dismiss(root string) {
	var known, missing []string
	for path, c := range r.previous {
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
		r.deletions.Gone(path)
	}
}

// holdCheckout keeps the checkout as it is for a look at it; ok is false while nothing is
// known of it.
func (r *Reconciler) holdCheckout() (release func(), ok bool) {
	if r.o.Checkout == nil {
		return func() {}, true
	}
	if release, ok = r.o.Checkout.Hold(); !ok {
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

// commitOf is the commit that a file is of, "" where it is of none.
func (r *Reconciler) commitOf(path string) string {
	if r.o.Checkout == nil || !below(path, r.o.Checkout.Root) {
		return ""
	}
	return r.o.Checkout.Commit()
}

func below(path, root string) bool { return strings.HasPrefix(path, root+"/") }
