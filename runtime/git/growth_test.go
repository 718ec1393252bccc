package git

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestWhatComesIsBounded has Git write into a repository as a server would have it.
func TestWhatComesIsBounded(t *testing.T) {
	t.Parallel()
	const pack = `mkdir -p objects/pack; of() { head -c $1 /dev/zero; }; `
	for name, tt := range map[string]struct {
		script string
		grown  bool
		fails  bool
	}{
		"an endless pack":          {pack + `while of 100000; do :; done >objects/pack/tmp_pack_a`, true, true},
		"one that came at once":    {pack + `of 2000000 >objects/pack/pack-a.pack`, true, true},
		"one that is small enough": {pack + `of 1000 >objects/pack/pack-a.pack`, false, false},
		"half of one":              {pack + `of 1000 >objects/pack/tmp_pack_a; exit 1`, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			g := newGit(t).In(dir)
			err := Bringing(t.Context(), dir, 1<<20, func(ctx context.Context) error {
				_, err := g.Run(ctx, "sh", tt.script)
				return err
			})
			if (err != nil) != tt.fails || errors.Is(err, ErrGrown) != tt.grown {
				t.Errorf("it ends with %v", err)
			}
			halves, err := filepath.Glob(filepath.Join(dir, "objects", "pack", "tmp_*"))
			if err != nil || len(halves) != 0 {
				t.Errorf("there are still %v (%v)", halves, err)
			}
		})
	}
}

func TestWhatFilesTakeIsTold(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if got := SizeOf(filepath.Join(dir, "none")); got != 0 {
		t.Errorf("what is not there takes %d bytes", got)
	}
	err := errors.Join(os.Mkdir(filepath.Join(dir, "a"), 0o755), os.WriteFile(filepath.Join(dir, "a", "b"), make([]byte, 10), 0o600),
		os.WriteFile(filepath.Join(dir, "c"), make([]byte, 5), 0o600), os.Symlink("c", filepath.Join(dir, "d")))
	if got := SizeOf(dir); err != nil || got != 15 {
		t.Errorf("two files of 10 and 5 bytes take %d (%v)", got, err)
	}
}
