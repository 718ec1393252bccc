package safefile

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// An agent may have put anything where a file is expected.
func TestOnlyARegularFileIsOpened(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, err := range []error{
		os.WriteFile(at("file"), []byte("text"), 0o600), os.Symlink("file", at("link")), syscall.Mkfifo(at("pipe"), 0o600), os.Mkdir(at("folder"), 0o700),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, fine := range map[string]bool{"file": true, "link": false, "pipe": false, "folder": false, "missing": false} {
		f, err := Open(at(name))
		if (err == nil) != fine {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil {
			_ = f.Close()
		}
	}
}

func TestAFileReplacesALinkAndNotWhereThatLeads(t *testing.T) {
	dir := t.TempDir()
	target, path := filepath.Join(dir, "target"), filepath.Join(dir, "file")
	for _, err := range []error{os.WriteFile(target, []byte("mine"), 0o600), os.Symlink(target, path), os.Symlink(target, path+".new")} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := Replace(path, []byte("new")); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{target: "mine", path: "new"} {
		if got, err := os.ReadFile(name); err != nil || string(got) != want {
			t.Errorf("%s holds %q, %v", name, got, err)
		}
	}
	if err := Replace(filepath.Join(dir, "none", "file"), nil); err == nil {
		t.Error("a file was made in a folder that is not there")
	}
}
