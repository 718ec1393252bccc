package store

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// TestAStateDirectoryIsClosedToOthers also where it is there already.
func TestAStateDirectoryIsClosedToOthers(t *testing.T) {
	for _, tt := range []struct {
		name         string
		before, want fs.FileMode
	}{
		{"of the usual mode", 0o755, 0o700}, {"open to all", 0o777, 0o700}, {"private", 0o700, 0o700}, {"of a systemd unit", 0o710, 0o710},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "state")
			for range 2 { // the second time with a database that all can read
				if err := os.MkdirAll(dir, 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.Chmod(dir, tt.before); err != nil {
					t.Fatal(err)
				}
				s, err := Open(t.Context(), dir, Options{})
				if err != nil {
					t.Fatal(err)
				}
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
				path := filepath.Join(dir, databaseName)
				for file, want := range map[string]fs.FileMode{dir: tt.want, path: 0o600} {
					info, err := os.Stat(file)
					if err != nil {
						t.Fatal(err)
					}
					if got := info.Mode().Perm(); got != want {
						t.Errorf("%s has mode %o, want %o", file, got, want)
					}
				}
				if err := os.Chmod(path, 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}
