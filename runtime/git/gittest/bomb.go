package gittest

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// Bomb makes a commit in a repository that unfolds to a million files, each of a MiB of zeros,
// and main that commit. The repository takes a few KiB of it. It returns the commit's hash.
func Bomb(tb testing.TB, dir string) string {
	tb.Helper()
	cmd := exec.Command("/bin/sh", "-c", `set -e
blob=$(head -c 1048576 /dev/zero | git hash-object -w --stdin)
tree=$(for i in 0 1 2 3 4 5 6 7 8 9; do printf '100644 blob %s\tf%s\n' $blob $i; done | git mktree)
for depth in 1 2 3 4 5; do
	tree=$(for i in 0 1 2 3 4 5 6 7 8 9; do printf '040000 tree %s\td%s\n' $tree $i; done | git mktree)
done
commit=$(git commit-tree -m bomb $tree)
git update-ref refs/heads/main $commit
echo $commit`)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org")
	out, err := cmd.CombinedOutput()
	if err != nil {
		tb.Fatalf("make a commit that unfolds: %v\n%s", err, out)
	}
	return strings.TrimSpace(string(out))
}
