package output

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/assayd/assayd/runtime/kernel"
)

// stagePrefix begins the names of folders in which tasks are made. What begins with a dot is in
// no dataset.
const stagePrefix = ".assayd-"

// lockEvery is how often a folder that somebody else writes to is tried.
const lockEvery = 20 * time.Millisecond

// lock has a folder to oneself until unlock. The kernel ends it with the process.
func lock(ctx context.Context, dir string) (unlock func() error, err error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	again := time.NewTicker(lockEvery)
	defer again.Stop()
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case err == nil:
			return f.Close, nil
		case !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR):
			return nil, errors.Join(err, f.Close())
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return nil, errors.Join(context.Cause(ctx), f.Close())
		}
	}
}

// stage is a folder beside the datasets in which tasks are made.
type stage struct {
	dir     string
	retired int
}

// newStage removes what a crash left, for which the folder must be locked.
func newStage(dir string) (*stage, error) {
	left, err := filepath.Glob(filepath.Join(escaped(dir), stagePrefix+"*"))
	if err != nil {
		return nil, fmt.Errorf("look for what a crash left: %w", err)
	}
	for _, name := range left {
		if err := os.RemoveAll(name); err != nil {
			return nil, fmt.Errorf("remove what a crash left: %w", err)
		}
	}
	made, err := os.MkdirTemp(dir, stagePrefix)
	if err != nil {
		return nil, fmt.Errorf("make a folder for a mined task: %w", err)
	}
	return &stage{dir: made}, nil
}

// escaped is a folder as a pattern that means only it.
func escaped(dir string) string {
	var b bytes.Buffer
	for _, c := range []byte(dir) {
		if bytes.IndexByte([]byte(`*?[\`), c) >= 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(c)
	}
	return b.String()
}

func (s *stage) close() error { return os.RemoveAll(s.dir) }

// publish puts a file or a folder in its place at once, and does nothing where an equal one is
// there already. What was there is gone with the stage.
func (s *stage) publish(from, to string) error {
	same, err := equal(from, to)
	if err != nil || same {
		return err
	}
	if err := settle(from); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	if err := s.swap(from, to); err != nil {
		return err
	}
	return sync(filepath.Dir(to))
}

// swap puts one in the place of the other. A folder that is there cannot be replaced by a
// plain renaming; where the file system cannot exchange, there is none for a moment.
func (s *stage) swap(from, to string) error {
	info, err := os.Lstat(to)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.Mode().IsRegular() {
		return os.Rename(from, to)
	}
	if err != nil {
		return err
	}
	if err = kernel.Exchange(from, to); !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	if err := s.retire(to); err != nil {
		return err
	}
	return os.Rename(from, to)
}

// retire removes a file or a folder at once, and does nothing where there is none.
func (s *stage) retire(name string) error {
	s.retired++
	err := os.Rename(name, filepath.Join(s.dir, fmt.Sprintf("retired-%d", s.retired)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return errors.Join(err, sync(filepath.Dir(name)))
}

// settle has the disk hold a file or a folder with all that is in it.
func settle(name string) error {
	return filepath.WalkDir(name, func(name string, e fs.DirEntry, err error) error {
		if err != nil || !e.IsDir() && !e.Type().IsRegular() {
			return err
		}
		return sync(name)
	})
}

func sync(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// equal reports whether there is the same under both names.
func equal(a, b string) (bool, error) {
	if _, err := os.Lstat(b); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	x, err := content(a)
	if err != nil {
		return false, err
	}
	y, err := content(b)
	return maps.Equal(x, y), err
}

// content is all that is under a name: kind and content by path.
func content(top string) (map[string]string, error) {
	all := map[string]string{}
	err := filepath.WalkDir(top, func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		below, err := filepath.Rel(top, name)
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		text := ""
		switch {
		case e.Type().IsRegular():
			var data []byte
			data, err = os.ReadFile(name)
			text = string(data)
		case e.Type() == fs.ModeSymlink:
			text, err = os.Readlink(name)
		}
		all[below] = info.Mode().Type().String() + text
		if info.Mode()&0o111 != 0 && !e.IsDir() {
			all[below] = "x" + all[below]
		}
		return err
	})
	return all, err
}
