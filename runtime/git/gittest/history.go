package gittest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/assayd/assayd/runtime/git"
)

// Run runs Git in a folder, as one author at one time, and returns what it says.
func Run(tb testing.TB, dir string, args ...string) string {
	tb.Helper()
	g, err := git.New(tb.TempDir(), git.Fetching(5*time.Minute))
	if err != nil {
		tb.Fatal(err)
	}
	out, err := g.In(dir).With(
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_AUTHOR_DATE=2020-01-02T03:04:05Z",
		"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org", "GIT_COMMITTER_DATE=2020-01-02T03:04:05Z").Run(tb.Context(), args...)
	if err != nil {
		tb.Fatal(err)
	}
	return strings.TrimSpace(out)
}

// Write writes a file, with the folders above it.
func Write(tb testing.TB, name, content string) {
	tb.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		tb.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
		tb.Fatal(err)
	}
}

// History is a repository with a past, a future, tags, a branch and a reflog.
type History struct {
	Dir                   string
	First, Base, Future   string // commits, each of a file more
	FutureBlob, TagOfBase string // objects that Base does not lead to
}

// MakeHistory makes one in a folder of the test.
func MakeHistory(tb testing.TB) History {
	tb.Helper()
	h := History{Dir: tb.TempDir()}
	commit := func(name, content string) string {
		Write(tb, filepath.Join(h.Dir, name), content)
		Run(tb, h.Dir, "add", "-A")
		Run(tb, h.Dir, "commit", "-q", "-m", "add "+name)
		return Run(tb, h.Dir, "rev-parse", "HEAD")
	}
	Run(tb, h.Dir, "init", "-q", "-b", "trunk")
	h.First = commit("a.txt", "one\n")
	h.Base = commit("src/b.txt", "two\n")
	Run(tb, h.Dir, "tag", "-a", "-m", "a note of the release", "v1")
	h.TagOfBase = Run(tb, h.Dir, "rev-parse", "v1")
	h.Future = commit("fix.txt", "the answer\n")
	h.FutureBlob = Run(tb, h.Dir, "rev-parse", "HEAD:fix.txt")
	Run(tb, h.Dir, "tag", "v2")
	Run(tb, h.Dir, "branch", "side")
	return h
}

// CheckCut fails unless a clone leads to the commit Base and to nothing later. git asks Git itself,
// in the clone, what it can reach.
func (h History) CheckCut(tb testing.TB, git func(args ...string) string) {
	tb.Helper()
	for _, q := range []struct {
		args []string
		want string
	}{
		{[]string{"rev-list", "--all"}, h.Base + "\n" + h.First},
		{[]string{"for-each-ref", "--format=%(refname)"}, "refs/heads/main"},
		{[]string{"symbolic-ref", "HEAD"}, "refs/heads/main"},
		{[]string{"reflog", "--all"}, ""},
		{[]string{"remote"}, ""},
		{[]string{"tag"}, ""},
		{[]string{"fsck", "--lost-found", "--no-progress"}, ""},
		{[]string{"status", "--porcelain"}, ""},
	} {
		if got := git(q.args...); got != q.want {
			tb.Errorf("git %s: %q, want %q", strings.Join(q.args, " "), got, q.want)
		}
	}
	objects := git("cat-file", "--batch-all-objects", "--batch-check")
	for _, id := range []string{h.Future, h.FutureBlob, h.TagOfBase} {
		if strings.Contains(objects, id) {
			tb.Errorf("object %s is in the clone", id)
		}
	}
}
