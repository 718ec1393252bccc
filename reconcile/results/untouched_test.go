//go:build linux

package results

import (
	"context"
	"os"
	"path/filepath"
	"testing"
)

// reads counts what is read of stored lines: a file is compared with its last one.
type reads struct {
	stored
	n *int
}

func (r reads) Lines(ctx context.Context, stream int64, seq int) ([]Line, error) {
	*r.n++
	return r.stored.Lines(ctx, stream, seq)
}

func TestACheckReadsOnlyFilesThatSomebodyTouched(t *testing.T) {
	for name, tc := range map[string]struct {
		touch func(h *fixture, file string) error
		read  bool
	}{
		"nobody did": {func(*fixture, string) error { return nil }, false},
		"it is gone": {func(_ *fixture, file string) error { return os.Remove(file) }, true},
		"shortened":  {func(_ *fixture, file string) error { return os.Truncate(file, 3) }, true},
		"copied back, with its time": {func(_ *fixture, file string) error {
			info, err := os.Stat(file)
			if err != nil {
				return err
			}
			text, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			if err := os.Rename(file, file+"~"); err != nil {
				return err
			}
			if err := os.WriteFile(file, text, 0o644); err != nil {
				return err
			}
			return os.Chtimes(file, info.ModTime(), info.ModTime())
		}, true},
		"its folder leads elsewhere": {func(h *fixture, file string) error {
			if err := os.Rename(h.root, h.root+".old"); err != nil {
				return err
			}
			return os.Symlink(h.root+".old", h.root)
		}, true},
		"there is more to write": {func(h *fixture, _ string) error {
			h.append(h.ref("run.a"), "more")
			return nil
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			h := newFixture(t)
			n := 0
			h.writer = NewWriter(reads{stored{h.store}, &n}, Options{Dir: filepath.Join(h.state, "results")})
			h.append(h.ref("run.a"), "one", "two")
			h.pass(true)
			if err := tc.touch(h, h.ref("run.a").Path); err != nil {
				t.Fatal(err)
			}
			n = 0
			h.pass(true)
			if got := n > 0; got != tc.read {
				t.Errorf("read: %v, want %v", got, tc.read)
			}
			h.check()
		})
	}
}
