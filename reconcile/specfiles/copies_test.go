package specfiles

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/assayd/assayd/config"
)

var noon = time.Date(2030, 5, 1, 12, 0, 0, 0, time.UTC)

// put writes a file into a folder.
func put(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// A folder in which somebody writes all the time is copied all the same, and known to have been changed.
func TestAFolderThatNeverRestsIsCopied(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "log", "0")
	n := 0
	k := NewCopies(func(string) (string, error) {
		n++
		put(t, dir, "log", strings.Repeat("x", n))
		return "digest", nil
	}, nil)
	k.all[dir] = &folderCopy{next: make(chan struct{})}
	before := config.Lay(dir)
	k.put(dir, k.pack(dir))
	digest, err := k.Snapshot(dir, time.Now())
	if digest != "digest" || err != nil || n != packTries || k.Lay(dir) == config.Lay(dir) || k.Lay(dir) == before {
		t.Errorf("%q (%v) after %d copies", digest, err, n)
	}
	_ = os.Remove(filepath.Join(dir, "log"))
}
