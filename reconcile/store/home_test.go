package store

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/assayd/assayd/reconcile/store/statedir"
)

// Two state directories with one owner id would remove each other's containers.
func TestACopiedStateIsRefusedWhileTheOldOneIsThere(t *testing.T) {
	base := t.TempDir()
	old, copied, moved := filepath.Join(base, "old"), filepath.Join(base, "copied"), filepath.Join(base, "moved")
	owner := func(dir string, readOnly bool) (string, error) {
		s, err := Open(t.Context(), dir, Options{ReadOnly: readOnly})
		if err != nil {
			return "", err
		}
		return s.Owner(), s.Close()
	}
	id, err := owner(old, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(copied, os.DirFS(old)); err != nil {
		t.Fatal(err)
	}
	before, _ := os.ReadFile(filepath.Join(copied, databaseName))
	for _, readOnly := range []bool{true, false} {
		_, err := owner(copied, readOnly)
		if c, ok := errors.AsType[*statedir.CopiedError](err); !ok || c.From != old || c.Dir != copied ||
			!strings.Contains(err.Error(), "copied from "+old+", which still uses it: remove "+copied+" to begin again") {
			t.Errorf("read only %t: %v", readOnly, err)
		}
		if after, _ := os.ReadFile(filepath.Join(copied, databaseName)); readOnly && string(after) != string(before) {
			t.Error("a look at the copy has written to it")
		}
		if got, err := owner(old, readOnly); got != id || err != nil {
			t.Errorf("the old one, read only %t: %q, %v", readOnly, got, err)
		}
	}

	// Another name of the same folder is no copy.
	link := filepath.Join(base, "link")
	if err := os.Symlink(old, link); err != nil {
		t.Fatal(err)
	}
	if got, err := owner(link, false); got != id || err != nil {
		t.Errorf("by a link: %q, %v", got, err)
	}

	// One that was moved goes on, also when a copy comes back to where it was.
	if err := os.Rename(old, moved); err != nil {
		t.Fatal(err)
	}
	for _, readOnly := range []bool{true, false} {
		if got, err := owner(moved, readOnly); got != id || err != nil {
			t.Errorf("moved, read only %t: %q, %v", readOnly, got, err)
		}
	}
	if err := os.CopyFS(old, os.DirFS(moved)); err != nil {
		t.Fatal(err)
	}
	if _, err := owner(old, false); err == nil || !strings.Contains(err.Error(), "copied from "+moved) {
		t.Errorf("a copy at the old place: %v", err)
	}

	// What else is at the old place does not matter.
	for name, put := range map[string]func(dir string) error{
		"a new state": func(dir string) error { _, err := owner(dir, false); return err },
		"a file":      func(dir string) error { return os.WriteFile(dir, nil, 0o600) },
		"a folder":    func(dir string) error { return os.Mkdir(dir, 0o700) },
	} {
		t.Run(name, func(t *testing.T) {
			from, to := filepath.Join(base, name), filepath.Join(base, name+" then")
			_, err := owner(from, false)
			if err = errors.Join(err, os.Rename(from, to), put(from)); err != nil {
				t.Fatal(err)
			}
			if _, err := owner(to, false); err != nil {
				t.Error(err)
			}
		})
	}
}
