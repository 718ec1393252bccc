package clone

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/runtime/git/gittest"
	"github.com/assayd/assayd/runtime/task"
)

// What a repository of an image leads to beyond a commit, whoever made it.
func TestAnAuditFindsWhatACommitDoesNotLeadTo(t *testing.T) {
	h := gittest.MakeHistory(t)
	m := &Mirrors{Dir: t.TempDir()}
	cut, _, err := (&Mirrors{Dir: t.TempDir()}).cut(t.Context(), task.Repo{URL: h.Dir, Commit: h.Base})
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
	gittest.Write(t, filepath.Join(h.Dir, ".git", "logs", "HEAD"), "what was checked out before\n")
	cut, whole := held(cut), held(h.Dir)
	for _, c := range []struct {
		name, dir, commit string
		want              Beyond
	}{
		{"a cut clone", cut, h.Base, Beyond{Commit: h.Base}},
		{"a whole one", whole, h.Base, Beyond{Commit: h.Base, Commits: 1, Objects: 4, Refs: []string{"refs/heads/side", "refs/heads/trunk", "refs/tags/v1", "refs/tags/v2"}, Left: []string{"logs"}}},
		{"a whole one at its end", whole, "", Beyond{Commit: gittest.Run(t, whole, "--git-dir=.", "rev-parse", "HEAD"), Objects: 1, Refs: []string{"refs/tags/v1"}, Left: []string{"logs"}}},
	} {
		got, err := m.Audit(t.Context(), c.dir, c.commit)
		if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", c.name, err, diff)
		}
	}
	if _, err := m.Audit(t.Context(), t.TempDir(), ""); err == nil {
		t.Error("what is no repository has been looked through")
	}
}
