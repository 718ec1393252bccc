//go:build linux

package judgecmd

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/runtime/guest/protocol"
)

// laidOut makes a tree: "a/b" is a file, "a/b->c" a link, "a/" a folder.
func laidOut(t *testing.T, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range names {
		place, target, isLink := strings.Cut(name, "->")
		full := filepath.Join(dir, place)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		switch {
		case isLink:
			err = os.Symlink(target, full)
		case strings.HasSuffix(name, "/"):
			err = os.MkdirAll(full, 0o755)
		default:
			err = os.WriteFile(full, []byte(name), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// held lists what a folder holds, folders only where they are empty.
func held(t *testing.T, dir string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if !d.IsDir() {
			names = append(names, name)
		} else if inner, err := os.ReadDir(path); err == nil && len(inner) == 0 {
			names = append(names, name+"/")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func TestRemoveTakesFilesAndTheFoldersThatThatEmpties(t *testing.T) {
	outside := laidOut(t, "kept")
	tree := []string{"a/b/one", "a/b/two", "a/c/three", "d/", "top", "to->a", "out->" + outside, "dangling->nowhere"}
	for _, tt := range []struct {
		name   string
		remove []string
		left   []string
		err    string
	}{
		{"nothing", nil, []string{"a/b/one", "a/b/two", "a/c/three", "d/", "dangling", "out", "to", "top"}, ""},
		{"a file", []string{"a/b/one"}, []string{"a/b/two", "a/c/three", "d/", "dangling", "out", "to", "top"}, ""},
		{"the last of a folder", []string{"a/c/three"}, []string{"a/b/one", "a/b/two", "d/", "dangling", "out", "to", "top"}, ""},
		{"all below a folder", []string{"a/b/one", "a/b/two", "a/c/three"}, []string{"d/", "dangling", "out", "to", "top"}, ""},
		{"links, not what they lead to", []string{"to", "out", "dangling"}, []string{"a/b/one", "a/b/two", "a/c/three", "d/", "top"}, ""},
		{"what is not there", []string{"x", "a/x", "x/y/z"}, []string{"a/b/one", "a/b/two", "a/c/three", "d/", "dangling", "out", "to", "top"}, ""},
		{"odd names", []string{"a/b/one\n", " top"}, []string{"a/b/one", "a/b/two", "a/c/three", "d/", "dangling", "out", "to", "top"}, ""},
		{"through a link", []string{"to/b/one"}, nil, `"to" is no folder`},
		{"through a link that leads out", []string{"out/kept"}, nil, `"out" is no folder`},
		{"below a file", []string{"top/x"}, nil, `"top" is no folder`},
		{"a folder", []string{"d"}, nil, "it is a folder"},
		{"a place outside", []string{"../" + filepath.Base(outside) + "/kept"}, nil, "no clean relative path"},
		{"an absolute place", []string{outside + "/kept"}, nil, "no clean relative path"},
		{"the folder itself", []string{"."}, nil, "no clean relative path"},
		{"a path that is not clean", []string{"a//b/one"}, nil, "no clean relative path"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := laidOut(t, tree...)
			var list strings.Builder
			for _, name := range tt.remove {
				list.WriteString(name + "\x00")
			}
			err := Remove(dir, strings.NewReader(list.String()))
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("error %v, want %q", err, tt.err)
				}
				tt.left = slices.Sorted(slices.Values([]string{"a/b/one", "a/b/two", "a/c/three", "d/", "top", "to", "out", "dangling"}))
			} else if err != nil {
				t.Error(err)
			}
			if diff := cmp.Diff(tt.left, held(t, dir)); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff([]string{"kept"}, held(t, outside)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestOnlyAContainerThatTheGuestHoldsIsSwept(t *testing.T) {
	for cmdline, fine := range map[string]bool{
		protocol.Program + "\x00hold\x00": true, "/x/assay-guest\x00hold": true,
		protocol.Program + "\x00run\x00": false, "/sbin/init\x00": false, "sleep\x00hold\x00": false, "": false, protocol.Program + "\x00hold\x00more\x00": false,
	} {
		file := filepath.Join(t.TempDir(), "cmdline")
		if err := os.WriteFile(file, []byte(cmdline), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := heldBy(file); (err == nil) != fine {
			t.Errorf("%q: %v", cmdline, err)
		}
	}
	if heldBy(filepath.Join(t.TempDir(), "none")) == nil {
		t.Error("who holds the container is not known, and it is swept")
	}
}
