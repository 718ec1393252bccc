//go:build linux

package worktree

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTreeHashSeesWhatIsSubmittedAndNothingElse(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	write(t, at("src/a"), "1")
	write(t, at("src/sub/b"), "22")
	write(t, at("src/.git/HEAD"), "x")
	write(t, at("other"), "x")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.Symlink("a", at("src/link")))
	must(syscall.Mkfifo(at("src/pipe"), 0o600))
	hash := func() string {
		t.Helper()
		sum, whole := Hash(t.Context(), dir, []string{"src", "src/sub", "missing", "../..", "/etc"})
		if !whole {
			t.Fatal("not whole")
		}
		return sum
	}
	for _, tt := range []struct {
		name    string
		change  func()
		changes bool
	}{
		{"nothing", func() {}, false},
		{"a file outside", func() { write(t, at("other"), "y") }, false},
		{"git's own", func() { write(t, at("src/.git/index"), "y") }, false},
		{"the time of a file", func() { write(t, at("src/a"), "1") }, false},
		{"a content of the same size", func() { write(t, at("src/a"), "2") }, true},
		{"a size", func() { write(t, at("src/a"), "23") }, true},
		{"a mode", func() { must(os.Chmod(at("src/a"), 0o755)) }, true},
		{"a new file", func() { write(t, at("src/c"), "") }, true},
		{"a name", func() { must(os.Rename(at("src/c"), at("src/d"))) }, true},
		{"a removed file", func() { must(os.Remove(at("src/d"))) }, true},
		{"a link", func() { must(os.Remove(at("src/link"))); must(os.Symlink("sub/b", at("src/link"))) }, true},
	} {
		before := hash()
		tt.change()
		if changed := hash() != before; changed != tt.changes {
			t.Errorf("%s: changed %v", tt.name, changed)
		}
	}
}

func TestATreeTooLargeIsNotWhole(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a"), "")
	w := treeWalk{entries: 1}
	for _, name := range []string{"a", "a"} {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		w.ctx, w.dir, w.hash = t.Context(), dir, discard{}
		err = w.visit(filepath.Join(dir, name), entries[0], nil)
		if w.entries < 0 != (err != nil) {
			t.Errorf("entries %d, error %v", w.entries, err)
		}
	}
}

// discard is a hash of nothing.
type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }
func (discard) Sum(b []byte) []byte         { return b }
func (discard) Reset()                      {}
func (discard) Size() int                   { return 0 }
func (discard) BlockSize() int              { return 1 }

func TestExistingPathsAreRootsBelowTheFolder(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a/x", "a/y", "a-b", "b/z", "star.py", "stop.py"} {
		write(t, filepath.Join(dir, name), "")
	}
	for _, tt := range []struct {
		patterns []string
		want     []string
	}{
		{[]string{"."}, []string{"."}},
		{[]string{"a/x", "."}, []string{"."}},
		{[]string{"a/x", "a", "a-b", "a/y", "./a/"}, []string{"a", "a-b"}},
		{[]string{"*.py", "missing", "[", "b/*"}, []string{"b/z", "star.py", "stop.py"}},
		{[]string{"..", "/", "../a", "a/../../b"}, nil},
	} {
		if diff := cmp.Diff(tt.want, Paths(dir, tt.patterns)); diff != "" {
			t.Errorf("%q: %s", tt.patterns, diff)
		}
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
