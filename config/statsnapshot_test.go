package config

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
)

// later is when everything that a test has just made is old.
func later() time.Time { return time.Now().Add(time.Minute) }

func TestASightHoldsUntilALookWouldFindSomethingElse(t *testing.T) {
	files := []txtar.File{at("v1/a.hcl", anAgent), at("v1/in/b.hcl", `agent "b" { command = "y" }`), at("v1/note.txt", "x"), at("other.hcl", "")}
	for name, test := range map[string]struct {
		change func(dir string) error
		holds  bool
	}{
		"nothing":               {func(string) error { return nil }, true},
		"a record":              {func(dir string) error { return os.WriteFile(dir+"/v1/a.status.jsonl", nil, 0o644) }, true},
		"a file of no interest": {func(dir string) error { return os.Remove(dir + "/v1/note.txt") }, true},
		"a hidden file":         {func(dir string) error { return os.WriteFile(dir+"/v1/.a.hcl.swp", nil, 0o644) }, true},
		"a text": {func(dir string) error {
			return os.WriteFile(dir+"/v1/a.hcl", []byte(`agent "a" { command = "xy" }`), 0o644)
		}, false},
		"a text of the same length and time": {func(dir string) error {
			info, err := os.Stat(dir + "/v1/a.hcl")
			if err == nil {
				err = os.WriteFile(dir+"/v1/a.hcl", []byte(`agent "a" { command = "z" }`), 0o644)
			}
			if err == nil {
				err = os.Chtimes(dir+"/v1/a.hcl", info.ModTime(), info.ModTime())
			}
			return err
		}, false},
		"another file in its place": {func(dir string) error { return os.Rename(dir+"/other.hcl", dir+"/v1/in/b.hcl") }, false},
		"a new file":                {func(dir string) error { return os.WriteFile(dir+"/v1/in/c.hcl", nil, 0o644) }, false},
		"a file less":               {func(dir string) error { return os.Remove(dir + "/v1/in/b.hcl") }, false},
		"a new folder":              {func(dir string) error { return os.Mkdir(dir+"/v1/new", 0o755) }, false},
		"another root": {func(dir string) error {
			if err := os.CopyFS(dir+"/v2", os.DirFS(dir+"/v1")); err != nil {
				return err
			}
			return relink("v2", dir+"/root")
		}, false},
		"a link elsewhere": {func(dir string) error { return relink("in/b.hcl", dir+"/v1/link.hcl") }, false},
		"a folder of records elsewhere": {func(dir string) error {
			return os.WriteFile(dir+"/v1/in/b.status.jsonl", []byte("{}"), 0o644)
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			write(t, dir, files...)
			link(t, "v1", filepath.Join(dir, "root"))
			link(t, "a.hcl", filepath.Join(dir, "v1", "link.hcl"))
			sight := scanAt(later(), filepath.Join(dir, "root"), nil, testOptions()).Snapshot
			if err := test.change(dir); err != nil {
				t.Fatal(err)
			}
			for range 2 { // also after it has remembered what does not matter
				if got := sight.Holds(later()); got != test.holds {
					t.Errorf("it holds: %v, want %v", got, test.holds)
				}
			}
		})
	}
}

func relink(target, path string) error {
	if err := os.Symlink(target, path+".new"); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// What has just changed may change again without another change time.
func TestASightOfWhatIsYoungHoldsNothing(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, at("a.hcl", anAgent))
	if scanAt(time.Now(), dir, nil, testOptions()).Snapshot.Holds(later()) {
		t.Error("a file that was made a moment ago is taken for settled")
	}
	sight := scanAt(later(), dir, nil, testOptions()).Snapshot
	if err := os.WriteFile(filepath.Join(dir, "a.status.jsonl"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if !sight.Holds(time.Now()) || sight.places[len(sight.places)-1].trace == traceOf(dir) {
		t.Error("the list of a folder that has just changed is taken for settled")
	}
}

func TestASightOfWhatCannotBeSeenHoldsNothing(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, at("a.hcl", anAgent))
	link(t, "nothing", filepath.Join(dir, "b"))
	prev := Previous{filepath.Join(dir, "b", "c.hcl"): {Root: dir}}
	if scanAt(later(), dir, prev, testOptions()).Snapshot.Holds(later()) {
		t.Error("a place that cannot be looked at is taken for known")
	}
	if (StatSnapshot{}).Holds(later()) {
		t.Error("a look that saw nothing says that nothing has changed")
	}
}
