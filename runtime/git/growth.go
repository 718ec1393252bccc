package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
)

// ErrGrown says that a repository of ours became larger than it may.
var ErrGrown = errors.New("the copy of the repository takes more")

// lookEvery is how often the size of a repository is looked at while something comes.
const lookEvery = 300 * time.Millisecond

// Bringing does work that brings objects into the repository in dir, a bare one, and ends it
// through its context, with ErrGrown, when the repository takes more than most bytes: a server sends what
// it likes, for as long as it likes. What failed work leaves is swept: nobody else may
// work there.
func Bringing(ctx context.Context, dir string, most int64, work func(context.Context) error) error {
	watched, cancel := context.WithCancelCause(ctx)
	grown := fmt.Errorf("%w than %s", ErrGrown, humanize.IBytes(uint64(most))) //nolint:gosec // positive
	done := make(chan struct{})
	go func() {
		defer close(done)
		ticker := time.NewTicker(lookEvery)
		defer ticker.Stop()
		for {
			select {
			case <-watched.Done():
				return
			case <-ticker.C:
				if SizeOf(dir) > most {
					cancel(grown)
				}
			}
		}
	}()
	err := work(watched)
	cancel(nil)
	<-done
	if SizeOf(dir) > most {
		err = grown
	}
	if err != nil {
		err = errors.Join(err, Sweep(dir))
	}
	return err
}

// Sweep removes what killed commands left in the repository in dir: locks, and half packs, which
// Git itself keeps for two weeks. Nobody else may work there.
func Sweep(dir string) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || d.IsDir() {
			return err
		}
		name := d.Name()
		if strings.HasSuffix(name, ".lock") || strings.HasPrefix(name, "tmp_") || strings.HasPrefix(name, ".tmp-") || name == "gc.pid" {
			return os.Remove(path)
		}
		return nil
	})
}

// SizeOf is how many bytes the files in a folder have. What goes away meanwhile has none.
func SizeOf(dir string) int64 {
	total := int64(0)
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil
		}
		if info, err := d.Info(); err == nil {
			total += info.Size()
		}
		return nil
	})
	return total
}
