package layer

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/assayd/assayd/runtime/fault"
)

// grace is how long a layer is left alone after it was asked for, because its trial may not
// be known yet to whoever says what is kept. Half a download is left alone for as long.
const grace = time.Hour

// Collect removes the layers that keep does not want and nobody asked for within an hour,
// and what was begun of others and given up. It returns the digests of the layers that went.
func (s *Store) Collect(ctx context.Context, keep func(digest string) bool) (removed []string, err error) {
	entries, err := os.ReadDir(s.layers())
	if err != nil {
		return nil, fmt.Errorf("collect agent layers: %w", err)
	}
	for _, e := range entries {
		if ctx.Err() != nil {
			return removed, context.Cause(ctx)
		}
		if keep(e.Name()) {
			continue
		}
		gone, rerr := s.remove(e.Name())
		if gone {
			removed = append(removed, e.Name())
		}
		err = errors.Join(err, rerr)
	}
	err = errors.Join(err, s.sweep(func(work string) error {
		if fresh(work) {
			return nil
		}
		return os.RemoveAll(work)
	}))
	if err != nil {
		return removed, fmt.Errorf("collect agent layers: %w", err)
	}
	return removed, nil
}

// remove takes a layer away. First it loses its name, under which it is never less than whole.
func (s *Store) remove(digest string) (gone bool, err error) {
	unlock, err := s.tryLock(digest)
	if errors.Is(err, errLocked) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer unlock()
	work := s.work(digest)
	if err := errors.Join(os.RemoveAll(work), os.Mkdir(work, 0o700)); err != nil {
		return false, err
	}
	if gone, err = s.unname(digest, filepath.Join(work, goneName)); gone {
		fault.Reached(fault.LayerRemoved)
	}
	return gone, errors.Join(err, os.RemoveAll(work))
}

// unname moves a layer that nobody has asked for since to where it is removed.
func (s *Store) unname(digest, to string) (gone bool, err error) {
	s.use.Lock()
	defer s.use.Unlock()
	if fresh(s.folder(digest)) {
		return false, nil
	}
	if err := os.Rename(s.folder(digest), to); err != nil {
		return false, err
	}
	return true, nil
}

// tidy removes what the killed left.
func (s *Store) tidy() error { return s.sweep(abandon) }

// abandon removes what was begun of a layer, but for downloads, with which the next maker
// goes on.
func abandon(work string) error {
	err := errors.Join(os.RemoveAll(filepath.Join(work, treeName)), os.RemoveAll(filepath.Join(work, goneName)))
	if rerr := os.Remove(work); !errors.Is(rerr, fs.ErrExist) { // which says that there are downloads
		err = errors.Join(err, rerr)
	}
	return err
}

// sweep calls tend for each folder of work in which nobody is at work.
func (s *Store) sweep(tend func(work string) error) error {
	entries, err := os.ReadDir(s.workshop())
	for _, e := range entries {
		unlock, lerr := s.tryLock(e.Name())
		if errors.Is(lerr, errLocked) {
			continue
		}
		if lerr == nil {
			lerr = tend(s.work(e.Name()))
			unlock()
		}
		if !errors.Is(lerr, fs.ErrNotExist) { // another process was faster
			err = errors.Join(err, lerr)
		}
	}
	return err
}

// fresh reports whether something was done about a folder not long ago.
func fresh(dir string) bool {
	info, err := os.Stat(dir)
	return err == nil && time.Since(info.ModTime()) < grace
}
