package docker

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// dig makes so many folders in one another, with a file of a megabyte in the last one.
func dig(t *testing.T, dir string, levels int) {
	t.Helper()
	at, err := unix.Open(dir, folderFlags, 0)
	for i := 0; err == nil && i < levels; i++ {
		next := -1
		if err = unix.Mkdirat(at, "deeper", 0o755); err == nil {
			next, err = unix.Openat(at, "deeper", folderFlags, 0)
		}
		_ = unix.Close(at)
		at = next
	}
	if err != nil {
		t.Fatal(err)
	}
	fd, err := unix.Openat(at, "treasure", unix.O_CREAT|unix.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	f := os.NewFile(uintptr(fd), "treasure")
	if _, err := f.Write(make([]byte, 1<<20)); err != nil {
		t.Fatal(err)
	}
	_, _ = f.Close(), unix.Close(at)
}

// TestWhatALayerTakes: nothing that an agent can do to its files makes them count for less
// than they take.
func TestWhatALayerTakes(t *testing.T) {
	t.Parallel()
	const mega = 1 << 20
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		name        string
		make        func(dir string)
		atLeast, to int64
	}{
		{"nothing", func(string) {}, 0, 0},
		{"files with something in them", func(dir string) { must(os.WriteFile(dir+"/a", make([]byte, mega), 0o600)) }, mega, mega + mega/10},
		{"empty files", func(dir string) {
			for i := range 300 {
				must(os.WriteFile(fmt.Sprint(dir, "/", i), nil, 0o600))
			}
		}, 300 * fileCost, 310 * fileCost},
		{"empty folders, and links that lead nowhere", func(dir string) {
			for i := range 300 {
				must(os.Mkdir(fmt.Sprint(dir, "/d", i), 0o700))
				must(os.Symlink("nowhere", fmt.Sprint(dir, "/s", i)))
			}
		}, 600 * fileCost, 610 * fileCost},
		{"a file with a hole", func(dir string) {
			must(os.WriteFile(dir+"/a", nil, 0o600))
			must(os.Truncate(dir+"/a", 1<<40))
		}, fileCost, fileCost},
		{"a file with many names", func(dir string) {
			must(os.WriteFile(dir+"/a", make([]byte, mega), 0o600))
			for i := range 15 {
				must(os.Link(dir+"/a", fmt.Sprint(dir, "/l", i)))
			}
		}, mega, mega + mega/10},
		{"a tree that is deeper than a path is long", func(dir string) { dig(t, dir, 1500) }, mega + 1500*fileCost, 2*mega + 1500*fileCost},
		{"a tree without a ground", func(dir string) { dig(t, dir, deepest) }, math.MaxInt64, math.MaxInt64},
		{"a link out of it", func(dir string) {
			out := filepath.Dir(dir) + "/out"
			must(os.Mkdir(out, 0o700))
			dig(t, out, 1)
			must(os.Symlink(out, dir+"/in"))
		}, fileCost, fileCost},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "diff")
			must(os.Mkdir(dir, 0o700))
			tt.make(dir)
			e := &Engine{deep: make(chan struct{}, 1)}
			got, err := e.layerBytes(t.Context(), dir)
			if err != nil || got < tt.atLeast || got > tt.to {
				t.Errorf("%d bytes, %v; want from %d to %d", got, err, tt.atLeast, tt.to)
			}
			if len(e.deep) > 0 {
				t.Error("the walk keeps the others from going deep")
			}
		})
	}
}
