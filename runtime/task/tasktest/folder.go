package tasktest

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Folder writes files by name into a new folder; a script is executable, and a content that
// begins with -> is a link.
func Folder(tb testing.TB, files map[string]string) string {
	tb.Helper()
	dir := tb.TempDir()
	for name, content := range files {
		at := filepath.Join(dir, filepath.FromSlash(name))
		err := os.MkdirAll(filepath.Dir(at), 0o755)
		mode := os.FileMode(0o644)
		if strings.HasPrefix(content, "#!") {
			mode = 0o755
		}
		if to, link := strings.CutPrefix(content, "->"); link {
			err = errors.Join(err, os.Symlink(to, at))
		} else {
			err = errors.Join(err, os.WriteFile(at, []byte(content), mode))
		}
		if err != nil {
			tb.Fatal(err)
		}
	}
	return dir
}
