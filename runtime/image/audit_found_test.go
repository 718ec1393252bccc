package image

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/runtime/container/containertest"
	"github.com/assayd/assayd/runtime/task"
)

// What a repository of an image leads to beyond a commit, whoever made it.
func TestAnAuditFindsWhatACommitDoesNotLeadTo(t *testing.T) {
	h := makeHistory(t)
	b := New(Options{Engine: containertest.NewFake(), CacheDir: t.TempDir()})
	cut, _, err := (&mirrors{dir: t.TempDir()}).cut(t.Context(), task.Repo{URL: h.dir, Commit: h.base})
	if err != nil {
		t.Fatal(err)
	}
	// Only what a repository holds is given to an audit, not what it says.
	held := func(dir string) string {
		to := t.TempDir()
		for _, name := range []string{"HEAD", "objects", "refs", "logs"} {
			err := os.Rename(filepath.Join(dir, ".git", name), filepath.Join(to, name))
			if err != nil && !os.IsNotExist(err) {
				t.Fatal(err)
			}
		}
		return to
	}
	write(t, filepath.Join(h.dir, ".git", "logs", "HEAD"), "what was checked out before\n")
	cut, whole := held(cut), held(h.dir)
	for _, c := range []struct {
		name, dir, commit string
		want              Beyond
	}{
		{"a cut clone", cut, h.base, Beyond{Commit: h.base}},
		{"a whole one", whole, h.base, Beyond{Commit: h.base, Commits: 1, Objects: 4, Refs: []string{"refs/heads/side", "refs/heads/trunk", "refs/tags/v1", "refs/tags/v2"}, Left: []string{"logs"}}},
		{"a whole one at its end", whole, "", Beyond{Commit: gitIn(t, whole, "--git-dir=.", "rev-parse", "HEAD"), Objects: 1, Refs: []string{"refs/tags/v1"}, Left: []string{"logs"}}},
	} {
		got, err := b.Audit(t.Context(), c.dir, c.commit)
		if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", c.name, err, diff)
		}
	}
	if _, err := b.Audit(t.Context(), t.TempDir(), ""); err == nil {
		t.Error("what is no repository has been looked through")
	}
}
