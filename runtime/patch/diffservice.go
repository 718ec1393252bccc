package patch

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/assayd/assayd/runtime/git"
)

// maxBases is how many bases are kept, the last used ones.
const maxBases = 32

// Names below the folder of a DiffService. What begins with scratchPrefix is temporary.
const (
	scratchPrefix = "tmp-"
	baseSuffix    = ".git"
)

// DiffService makes and applies patches. Its folder belongs to it alone. All methods, and those
// of its bases, may be called at once.
type DiffService struct {
	dir  string
	most int64 // bytes of a diff that is made

	mu      sync.Mutex
	ready   bool    // the folder is there, without remains of a crash
	git     git.Git // once ready
	shelves map[string]*shelf
}

// shelf is the place of a base that somebody uses.
type shelf struct {
	users int           // under DiffService.mu; a base in use is not thrown away
	gate  chan struct{} // one maker at a time
}

// Base is a tree that patches are made against and applied to.
type Base struct {
	w    *DiffService
	name string
	open func() (io.ReadCloser, error)
}

// New returns a DiffService that keeps its files in the folder dir. It touches nothing yet.
func New(dir string) *DiffService {
	return &DiffService{dir: dir, most: MaxBytes, shelves: map[string]*shelf{}}
}

// Base returns the tree that key identifies: equal keys mean equal content. open gives it as
// a tar with names relative to its top, when it is not kept yet; a base that was not used
// for long may be asked for again, as long as it is held.
func (w *DiffService) Base(ctx context.Context, key string, open func() (io.ReadCloser, error)) (*Base, error) {
	sum := sha256.Sum256([]byte(key))
	b := &Base{w, hex.EncodeToString(sum[:16]), open}
	return b, b.use(ctx, func(*repository, string) error { return nil })
}

// prepare makes the folder once, and removes what a crash left in it.
func (w *DiffService) prepare() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ready {
		return nil
	}
	if err := os.MkdirAll(w.dir, 0o700); err != nil {
		return fmt.Errorf("make the folder of patches: %w", err)
	}
	left, err := filepath.Glob(filepath.Join(w.dir, scratchPrefix+"*"))
	if err != nil {
		return err
	}
	for _, name := range left {
		if err := os.RemoveAll(name); err != nil {
			return fmt.Errorf("remove what a crash left: %w", err)
		}
	}
	if w.git, err = newGit(w.dir); err != nil {
		return err
	}
	w.ready = true
	return nil
}

// use gives the repository of a base, and the name of its tree there, to somebody who only
// reads it. Nobody throws it away meanwhile.
func (b *Base) use(ctx context.Context, do func(r *repository, tree string) error) error {
	w := b.w
	if err := w.prepare(); err != nil {
		return err
	}
	w.mu.Lock()
	s := w.shelves[b.name]
	if s == nil {
		s = &shelf{gate: make(chan struct{}, 1)}
		w.shelves[b.name] = s
	}
	s.users++
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if s.users--; s.users == 0 {
			delete(w.shelves, b.name)
		}
	}()

	select {
	case s.gate <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	r, tree, err := b.ensure(ctx)
	<-s.gate
	if err != nil {
		return err
	}
	return do(r, tree)
}

// ensure finds the base, or makes it.
func (b *Base) ensure(ctx context.Context) (*repository, string, error) {
	r := b.w.repository(filepath.Join(b.w.dir, b.name+baseSuffix))
	tree, err := r.kept()
	if err == nil {
		return r, tree, os.Chtimes(r.dir, time.Time{}, time.Now())
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, "", err
	}
	if err := os.RemoveAll(r.dir); err != nil { // one that lost its content
		return nil, "", err
	}
	tree, err = b.make(ctx, r.dir)
	if err != nil {
		return nil, "", fmt.Errorf("keep the tree that patches are against: %w", err)
	}
	return r, tree, b.w.tidy()
}

// make reads the tree into a new repository, which appears whole or not at all.
func (b *Base) make(ctx context.Context, dir string) (tree string, err error) {
	err = b.w.scratch("", func(r *repository) error {
		rc, err := b.open()
		if err != nil {
			return err
		}
		defer rc.Close()
		if err := r.take(ctx, rc, scope{"."}, nil); err != nil {
			return err
		}
		if tree, err = r.keep(ctx); err != nil {
			return err
		}
		return os.Rename(r.dir, dir)
	})
	return tree, err
}

// tidy removes the bases that were not used for the longest time.
func (w *DiffService) tidy() error {
	all, err := filepath.Glob(filepath.Join(w.dir, "*"+baseSuffix))
	if err != nil || len(all) <= maxBases {
		return err
	}
	used := map[string]time.Time{}
	for _, dir := range all {
		if info, err := os.Stat(dir); err == nil {
			used[dir] = info.ModTime()
		}
	}
	slices.SortFunc(all, func(a, b string) int { return cmp.Or(used[a].Compare(used[b]), strings.Compare(a, b)) })
	for _, dir := range all[:len(all)-maxBases] {
		if err := w.discard(dir); err != nil {
			return fmt.Errorf("remove an old base of patches: %w", err)
		}
	}
	return nil
}

// discard removes a base, unless somebody uses it.
func (w *DiffService) discard(dir string) error {
	gone, err := os.MkdirTemp(w.dir, scratchPrefix)
	if err != nil {
		return err
	}
	w.mu.Lock()
	if w.shelves[strings.TrimSuffix(filepath.Base(dir), baseSuffix)] == nil {
		err = os.Rename(dir, filepath.Join(gone, "base"))
	}
	w.mu.Unlock()
	if errors.Is(err, fs.ErrNotExist) {
		err = nil // somebody else was faster
	}
	return errors.Join(err, os.RemoveAll(gone))
}

// scratch has a repository for as long as do works in it. It sees the objects of another
// one, "" = none.
func (w *DiffService) scratch(objects string, do func(*repository) error) (err error) {
	dir, err := os.MkdirTemp(w.dir, scratchPrefix)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	r := w.repository(filepath.Join(dir, "repository"))
	if err := r.create(objects); err != nil {
		return err
	}
	return do(r)
}
