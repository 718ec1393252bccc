package folder_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/runtime/task/folder"
)

// hostile is a folder with a secret beside it.
func hostile(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "source")
	for name, text := range map[string]string{
		"a.yaml": "one", "x/a.yaml": "two", "x/y/a.yaml": "three", ".git/a.yaml": "no", "x/b.yaml": "no", "x/large": strings.Repeat("x", 1000), ".hidden": "no", "../secret": "secret",
		"large": strings.Repeat("x", 1000),
	} {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, err := range []error{
		os.Symlink("../secret", filepath.Join(dir, "out")), os.Symlink("x", filepath.Join(dir, "link")), os.Symlink("a.yaml", filepath.Join(dir, "inside")),
		syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func open(t *testing.T, name string, room int64) *folder.Root {
	t.Helper()
	f, err := folder.OpenSource(name, room)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

func TestAFolderGivesWhatIsInItAndNothingElse(t *testing.T) {
	t.Parallel()
	f := open(t, hostile(t), 1<<20)
	found, err := f.Find("a.yaml")
	if diff := cmp.Diff([]string{"a.yaml", "x/a.yaml", "x/y/a.yaml"}, found); err != nil || diff != "" {
		t.Error(err, diff)
	}
	names, err := f.Names()
	if diff := cmp.Diff([]string{"a.yaml", "inside", "large", "link", "out", "pipe"}, names); err != nil || diff != "" {
		t.Error(err, diff)
	}
	for name, want := range map[string]string{"a.yaml": "one", "x/y/a.yaml": "three", "inside": "one"} {
		if data, err := f.Read(name, 100); err != nil || string(data) != want {
			t.Errorf("%s: %q, %v", name, data, err)
		}
	}
	for name, want := range map[string]string{
		"out": "path escapes from parent", "../secret": "path escapes from parent", "/etc/passwd": "path escapes from parent", "": "empty path",
		"pipe": "is not a plain file", "x": "is not a plain file", "large": "is larger than 0 KiB", "none": "no such file",
	} {
		if data, err := f.Read(name, 100); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %q, %v, want %q", name, data, err, want)
		}
	}
	if !f.Has("x/a.yaml") || f.Has("inside") || f.Has("x") || f.Has("none") {
		t.Error("it has other files than there are")
	}
}

func TestAFileIsAFolderWithNothingElse(t *testing.T) {
	t.Parallel()
	f := open(t, filepath.Join(hostile(t), "a.yaml"), 1<<20)
	names, err := f.Names()
	if diff := cmp.Diff([]string{"a.yaml"}, names); err != nil || diff != "" {
		t.Error(err, diff)
	}
	if found, err := f.Find("b.yaml"); err != nil || len(found) > 0 {
		t.Error(found, err)
	}
	if _, err := f.Read("large", 1<<20); !errors.Is(err, fs.ErrNotExist) || f.Has("large") {
		t.Errorf("another file can be read: %v", err)
	}
	files, err := f.Files(".")
	if diff := cmp.Diff([]string{"a.yaml"}, files); err != nil || diff != "" {
		t.Error(err, diff)
	}
	if found, err := f.Find("a.yaml"); err != nil || len(found) != 1 {
		t.Error(found, err)
	}
	if folders, err := f.Folders("."); err != nil || len(folders) > 0 || f.Folder("x") || f.Folder(".") {
		t.Errorf("it has folders: %v, %v", folders, err)
	}
}

func TestWhatIsReadInAllIsBounded(t *testing.T) {
	t.Parallel()
	f := open(t, hostile(t), 1500)
	if _, err := f.Read("large", 1<<20); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Read("large", 1<<20); err == nil || !strings.Contains(err.Error(), "is left out") {
		t.Errorf("a second time: %v", err)
	}
	if _, err := f.Read("a.yaml", 1<<20); err != nil {
		t.Errorf("a small one after it: %v", err)
	}
	sub, err := f.Sub("x")
	if err != nil {
		t.Fatal(err)
	}
	defer sub.Close()
	if _, err := sub.Read("large", 1<<20); err == nil || !strings.Contains(err.Error(), "is left out") {
		t.Errorf("in a folder below: %v", err)
	}
}
