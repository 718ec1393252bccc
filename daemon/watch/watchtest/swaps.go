package watchtest

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Publish makes dir hold the files, by their paths in it, as the kubelet does for a ConfigMap:
// a folder of a new name is filled, "..data" is renamed over to lead to it, names that are
// new become links through "..data", those that are no more go, and the old folder last.
func Publish(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	must(t, os.MkdirAll(dir, 0o755))
	old, err := os.Readlink(filepath.Join(dir, "..data"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	fresh, err := os.MkdirTemp(dir, "..2026_11_21_")
	must(t, errors.Join(err, os.Chmod(fresh, 0o755)))
	tops := map[string]bool{}
	for path, text := range files {
		put(t, filepath.Join(fresh, path), text)
		top, _, _ := strings.Cut(path, "/")
		tops[top] = true
	}
	temporary := filepath.Join(dir, "..data_tmp")
	must(t, errors.Join(os.Symlink(filepath.Base(fresh), temporary), os.Rename(temporary, filepath.Join(dir, "..data"))))
	for _, top := range slices.Sorted(maps.Keys(tops)) {
		err := os.Symlink(filepath.Join("..data", top), filepath.Join(dir, top))
		if err != nil && !errors.Is(err, os.ErrExist) {
			t.Fatal(err)
		}
	}
	entries, err := os.ReadDir(dir)
	must(t, err)
	for _, entry := range entries {
		target, err := os.Readlink(filepath.Join(dir, entry.Name()))
		if err == nil && strings.HasPrefix(target, "..data/") && !tops[entry.Name()] {
			must(t, os.Remove(filepath.Join(dir, entry.Name())))
		}
	}
	if old != "" {
		must(t, os.RemoveAll(filepath.Join(dir, old)))
	}
}

// Swap makes the link "link" in dir lead to a worktree of a commit that holds the files, as
// git-sync does: the worktree is filled, "tmp-link" is made and renamed over the link, and the
// worktree of the commit before is removed at once, with all that is in it.
func Swap(t testing.TB, dir, commit string, files map[string]string) {
	t.Helper()
	worktrees := filepath.Join(dir, ".worktrees")
	link, temporary := filepath.Join(dir, "link"), filepath.Join(dir, "tmp-link")
	for path, text := range files {
		put(t, filepath.Join(worktrees, commit, path), text)
	}
	must(t, errors.Join(os.Symlink(filepath.Join(".worktrees", commit), temporary), os.Rename(temporary, link)))
	entries, err := os.ReadDir(worktrees)
	must(t, err)
	for _, entry := range entries {
		if entry.Name() != commit {
			must(t, os.RemoveAll(filepath.Join(worktrees, entry.Name())))
		}
	}
}
