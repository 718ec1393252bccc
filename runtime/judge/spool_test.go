package judge

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// What a judge left in its spool that was killed is gone before the next one works.
func TestAKilledJudgeLeavesNothingInItsSpool(t *testing.T) {
	dir := t.TempDir()
	left := filepath.Join(dir, spoolPrefix+"1")
	if err := os.WriteFile(left, []byte("half of an archive"), 0o600); err != nil {
		t.Fatal(err)
	}
	newBench(t, func(o *Options) { o.Spool = dir })
	if _, err := os.Stat(left); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s is there: %v", left, err)
	}
}
