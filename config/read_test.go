package config

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestRead(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, at("a.hcl", "x"), at("large.hcl", strings.Repeat("#", maxSpec+1)))
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe.hcl"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("a.hcl", filepath.Join(dir, "link.hcl")); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]Input{
		"a.hcl":     {Text: []byte("x")},
		"link.hcl":  {Text: []byte("x")},
		"gone.hcl":  {Gone: true},
		"large.hcl": {Refused: "Too large: more than 4 MiB."},
		"pipe.hcl":  {Refused: "Not a regular file."},
		".":         {Refused: "Not a regular file."},
		"a.hcl/b":   {Unknown: "not a directory"},
		"\x00":      {Unknown: "invalid argument"},
	} {
		got := Read(filepath.Join(dir, name))
		if string(got.Text) != string(want.Text) || got.Gone != want.Gone || got.Refused != want.Refused || got.Unknown != want.Unknown {
			t.Errorf("%q: %+v", name, got)
		}
	}
}

func TestReadAll(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, at("a.hcl", ""), at("sub/b.hcl", ""), at("sub/c.txt", ""), at("other.txt", ""))
	if err := os.Mkdir(filepath.Join(dir, "empty"), 0o755); err != nil {
		t.Fatal(err)
	}
	in := func(names ...string) (paths []string) {
		for _, name := range names {
			paths = append(paths, filepath.Join(dir, name))
		}
		return paths
	}
	inputs, err := ReadAll(in("a.hcl", "sub", "empty", "other.txt"))
	if err != nil || len(inputs) != 3 {
		t.Errorf("got %d files, %v", len(inputs), err)
	}
	_, err = ReadAll(in("gone.hcl", "a.hcl", "a.hcl/b", "nowhere"))
	if err == nil {
		t.Fatal("files that are not there are passed over")
	}
	want := strings.Join([]string{"gone.hcl: no such file or directory", "a.hcl/b: not a directory", "nowhere: no such file or directory"}, "\n")
	if got := strings.ReplaceAll(err.Error(), dir+"/", ""); got != want {
		t.Errorf("got %s", got)
	}
}
