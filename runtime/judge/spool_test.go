package judge

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/assayd/assayd/runtime/judge/sanitize"
)

// What a daemon left in its spool that was killed is gone before the next one works.
func TestAKilledJudgeLeavesNothingInItsSpool(t *testing.T) {
	dir := t.TempDir()
	for _, prefix := range []string{"assayd-clean-", sanitize.TreePrefix} {
		if err := os.WriteFile(filepath.Join(dir, prefix+"1"), []byte("half of an archive"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	newFixture(t, func(o *Options) { o.Spool = dir })
	for _, prefix := range []string{"assayd-clean-", sanitize.TreePrefix} {
		if _, err := os.Stat(filepath.Join(dir, prefix+"1")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s1 is there: %v", prefix, err)
		}
	}
}
