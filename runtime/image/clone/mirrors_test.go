package clone

import (
	"archive/tar"
	"bytes"
	"crypto/rand"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/runtime/git"
	"github.com/assayd/assayd/runtime/git/gittest"
	"github.com/assayd/assayd/runtime/task"
)

func TestACutCloneLeadsToNothingLater(t *testing.T) {
	h := gittest.MakeHistory(t)
	m := &Mirrors{Dir: t.TempDir()}
	dir, when, err := m.cut(t.Context(), task.Repo{URL: h.Dir, Commit: h.Base})
	if err != nil {
		t.Fatal(err)
	}
	if want := time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC); !when.Equal(want) {
		t.Errorf("time %v, want %v", when, want)
	}
	h.CheckCut(t, func(args ...string) string { return gittest.Run(t, dir, args...) })
	for _, gone := range []string{"logs", "FETCH_HEAD", "ORIG_HEAD", "packed-refs", "hooks"} {
		if _, err := os.Stat(filepath.Join(dir, ".git", gone)); err == nil {
			t.Errorf(".git/%s is there", gone)
		}
	}
	if b, err := os.ReadFile(filepath.Join(dir, "src/b.txt")); err != nil || string(b) != "two\n" {
		t.Errorf("src/b.txt: %q, %v", b, err)
	}
}

func TestTwoCutsOfOneMirrorAreTheirOwn(t *testing.T) {
	h := gittest.MakeHistory(t)
	m := &Mirrors{Dir: t.TempDir()}
	for _, commit := range []string{h.Future, h.Base} { // the later one first: the mirror has it then
		dir, _, err := m.cut(t.Context(), task.Repo{URL: h.Dir, Commit: commit})
		if err != nil {
			t.Fatal(err)
		}
		if got := gittest.Run(t, dir, "rev-parse", "HEAD"); got != commit {
			t.Errorf("HEAD is %s, want %s", got, commit)
		}
		if commit == h.Base {
			h.CheckCut(t, func(args ...string) string { return gittest.Run(t, dir, args...) })
		}
	}
}

func TestAMirrorNeedsTheRepositoryOnce(t *testing.T) {
	h := gittest.MakeHistory(t)
	m := &Mirrors{Dir: t.TempDir()}
	repo := task.Repo{URL: h.Dir, Commit: h.Base}
	if _, _, err := m.cut(t.Context(), repo); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(h.Dir); err != nil {
		t.Fatal(err)
	}
	if _, _, err := m.cut(t.Context(), repo); err != nil {
		t.Errorf("second cut: %v", err)
	}
}

func TestARemoteThatGivesNoSingleCommitIsAskedForAll(t *testing.T) {
	h := gittest.MakeHistory(t)
	shallow := t.TempDir()
	gittest.Run(t, shallow, "clone", "-q", "--bare", "--depth=2", "file://"+h.Dir, ".")
	m := &Mirrors{Dir: t.TempDir()}
	dir, _, err := m.cut(t.Context(), task.Repo{URL: shallow, Commit: h.Base})
	if err != nil {
		t.Fatal(err)
	}
	if got := gittest.Run(t, dir, "rev-list", "--all"); got != h.Base {
		t.Errorf("a shallow source gives %q", got)
	}
}

func TestACloneUnfoldsWithinABound(t *testing.T) {
	h := gittest.MakeHistory(t)
	commit := gittest.Bomb(t, h.Dir)
	m := &Mirrors{Dir: t.TempDir()}
	dir, _, err := m.cut(t.Context(), task.Repo{URL: h.Dir, Commit: commit})
	if !errors.Is(err, git.ErrExtent) {
		t.Errorf("it was cloned: %v", err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("in its folder are %v (%v), want .git alone", entries, err)
	}
}

// TestAMirrorTakesNoMoreThanItMay: what a server sends is not kept, and of commits that nobody
// asks for any more neither.
func TestAMirrorTakesNoMoreThanItMay(t *testing.T) {
	h := gittest.MakeHistory(t)
	m := &Mirrors{Dir: t.TempDir(), most: 1 << 20}
	commit := func(name string, bytes int) string {
		text := make([]byte, bytes)
		_, _ = rand.Read(text) // it never fails
		gittest.Run(t, h.Dir, "checkout", "-q", "--orphan", name)
		gittest.Write(t, filepath.Join(h.Dir, name), string(text))
		gittest.Run(t, h.Dir, "add", "-A")
		gittest.Run(t, h.Dir, "commit", "-q", "-m", name)
		return gittest.Run(t, h.Dir, "rev-parse", "HEAD")
	}
	one := commit("one", 600<<10)
	gittest.Run(t, h.Dir, "rm", "-q", "-f", "one")
	two := commit("two", 600<<10)
	large := commit("large", 2<<20)
	for _, c := range []string{one, two, one} {
		if _, _, err := m.cut(t.Context(), task.Repo{URL: h.Dir, Commit: c}); err != nil {
			t.Fatalf("what is small enough is refused beside others: %v", err)
		}
	}
	if _, _, err := m.cut(t.Context(), task.Repo{URL: h.Dir, Commit: large}); !errors.Is(err, git.ErrGrown) {
		t.Errorf("a large commit ends with %v", err)
	}
	if kept, err := filepath.Glob(filepath.Join(m.Dir, "*.git")); err != nil || len(kept) != 0 {
		t.Errorf("it is kept in %v (%v)", kept, err)
	}
}

func TestTheAuditSeesWhatShouldNotBeThere(t *testing.T) {
	h := gittest.MakeHistory(t)
	for _, c := range []struct {
		name, want string
		spoil      func(dir string)
	}{
		{"a blob that nothing leads to", "holds object", func(dir string) {
			gittest.Write(t, filepath.Join(dir, "x"), "leak")
			gittest.Run(t, dir, "hash-object", "-w", "x")
		}},
		{"a tag", "has the refs", func(dir string) { gittest.Run(t, dir, "tag", "v9") }},
		{"a remote", "knows a remote", func(dir string) { gittest.Run(t, dir, "remote", "add", "origin", h.Dir) }},
		{"a reflog", "has .git/logs", func(dir string) { gittest.Write(t, filepath.Join(dir, ".git/logs/HEAD"), "") }},
		{"objects of somebody else", "has .git/objects/info/alternates", func(dir string) {
			gittest.Write(t, filepath.Join(dir, ".git/objects/info/alternates"), filepath.Join(h.Dir, ".git/objects")+"\n")
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := &Mirrors{Dir: t.TempDir()}
			dir, _, err := m.cut(t.Context(), task.Repo{URL: h.Dir, Commit: h.Base})
			if err != nil {
				t.Fatal(err)
			}
			c.spoil(dir)
			if err := audit(t.Context(), m.git.In(dir), dir, h.Base); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestReposThatCannotBeCut(t *testing.T) {
	h := gittest.MakeHistory(t)
	marker := filepath.Join(t.TempDir(), "ran")
	for _, c := range []struct {
		name string
		repo task.Repo
		want string
	}{
		{"a short hash", task.Repo{URL: h.Dir, Commit: h.Base[:12]}, "full hash"},
		{"a tag", task.Repo{URL: h.Dir, Commit: "v1"}, "full hash"},
		{"a commit that is not there", task.Repo{URL: h.Dir, Commit: strings.Repeat("1", 40)}, "no such commit"},
		{"a blob", task.Repo{URL: h.Dir, Commit: h.FutureBlob}, "no such commit"},
		{"a folder that is not there", task.Repo{URL: h.Dir + "-not", Commit: h.Base}, "git fetch"},
		{"an option for a URL", task.Repo{URL: "--upload-pack=touch " + marker, Commit: h.Base}, "URL"},
		{"a URL that runs a program", task.Repo{URL: "ext::sh -c 'touch " + marker + "'", Commit: h.Base}, "not allowed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := &Mirrors{Dir: t.TempDir()}
			if _, _, err := m.cut(t.Context(), c.repo); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if _, err := os.Stat(marker); err == nil {
				t.Error("the URL ran a program")
			}
		})
	}
}

func TestGitThatIsNotInstalled(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	m := &Mirrors{Dir: t.TempDir()}
	_, _, err := m.cut(t.Context(), task.Repo{URL: "/x", Commit: strings.Repeat("1", 40)})
	if err == nil || !strings.Contains(err.Error(), "git is not installed on this machine") {
		t.Errorf("got %v", err)
	}
}

func TestTheUsersGitConfigurationDoesNotCount(t *testing.T) {
	home := t.TempDir()
	marker := filepath.Join(home, "ran")
	gittest.Write(t, filepath.Join(home, ".gitconfig"), "[core]\n\tfsmonitor = touch "+marker+"\n[commit]\n\tgpgsign = true\n")
	t.Setenv("HOME", home)
	t.Setenv("GIT_DIR", home)
	h := gittest.MakeHistory(t)
	m := &Mirrors{Dir: t.TempDir()}
	if _, _, err := m.cut(t.Context(), task.Repo{URL: h.Dir, Commit: h.Base}); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(marker); err == nil {
		t.Error("the user's configuration ran a program")
	}
}

func TestTarsOfAFolderAreEqual(t *testing.T) {
	h := gittest.MakeHistory(t)
	when := time.Unix(1, 0).UTC()
	if err := os.Symlink("a.txt", filepath.Join(h.Dir, "link")); err != nil {
		t.Fatal(err)
	}
	var tars [2]bytes.Buffer
	for i := range tars {
		tw := tar.NewWriter(&tars[i])
		if err := TarFolder(tw, h.Dir, when); err != nil {
			t.Fatal(err)
		}
		if err := tw.Close(); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(filepath.Join(h.Dir, "a.txt"), time.Unix(99, 0), time.Unix(99, 0)); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(tars[0].Bytes(), tars[1].Bytes()); diff != "" {
		t.Error(diff)
	}
}

func TestWhatACrashLeftInTheCacheGoes(t *testing.T) {
	dir := t.TempDir()
	gittest.Write(t, filepath.Join(dir, cutPrefix+"1", "f"), "")
	gittest.Write(t, filepath.Join(dir, spoolPrefix+"1"), "")
	gittest.Write(t, filepath.Join(dir, "0123456789abcdef.git", "HEAD"), "")
	if err := (&Mirrors{Dir: dir}).Tidy(); err != nil { // also where nothing is ever built again
		t.Fatal(err)
	}
	left, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{filepath.Join(dir, "0123456789abcdef.git")}, left); diff != "" {
		t.Error(diff)
	}
}

func TestACloneIsATarOfTheCutRepository(t *testing.T) {
	h := gittest.MakeHistory(t)
	cache := t.TempDir()
	m := &Mirrors{Dir: cache}
	rc, err := m.Clone(t.Context(), task.Repo{URL: h.Dir, Commit: h.Base})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	untar(t, rc, dir)
	if err := errors.Join(rc.Close(), rc.Close()); err != nil {
		t.Error(err)
	}
	h.CheckCut(t, func(args ...string) string { return gittest.Run(t, dir, args...) })

	rc, err = m.Clone(t.Context(), task.Repo{URL: h.Dir, Commit: h.Base}) // that nobody reads
	if err != nil {
		t.Fatal(err)
	}
	if err := rc.Close(); err != nil {
		t.Error(err)
	}
	if _, err := m.Clone(t.Context(), task.Repo{URL: h.Dir, Commit: strings.Repeat("1", 40)}); err == nil {
		t.Error("a commit that is not there was cloned")
	}
	left, err := filepath.Glob(filepath.Join(cache, cutPrefix+"*"))
	if err != nil || len(left) != 0 {
		t.Errorf("left are %q, %v", left, err)
	}
}

// untar writes the files and links of a tar into a folder.
func untar(t *testing.T, r io.Reader, dir string) {
	t.Helper()
	for tr := tar.NewReader(r); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(tr)
		if err != nil {
			t.Fatal(err)
		}
		if h.Typeflag == tar.TypeDir {
			err = os.MkdirAll(filepath.Join(dir, h.Name), 0o755)
		} else {
			gittest.Write(t, filepath.Join(dir, h.Name), string(text))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestAMirrorOfGitHubIsAskedInItsPlace(t *testing.T) {
	h := gittest.MakeHistory(t)
	hub := t.TempDir()
	if err := os.Mkdir(filepath.Join(hub, "owner"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(h.Dir, filepath.Join(hub, "owner", "name.git")); err != nil {
		t.Fatal(err)
	}
	m := &Mirrors{Dir: t.TempDir(), Hub: "file://" + hub + "/", Forge: "https://ghe.example"}
	rc, err := m.Clone(t.Context(), task.Repo{URL: "https://github.com/owner/name.git", Commit: h.Base})
	if err != nil {
		t.Fatal(err)
	}
	if err := rc.Close(); err != nil {
		t.Error(err)
	}
	for _, c := range []struct{ url, want string }{
		{"https://github.com/o/n", "file://" + hub + "/o/n"},
		{"https://ghe.example/o/n", "file://" + hub + "/o/n"},
		{"https://ghe.example.org/o/n", "https://ghe.example.org/o/n"},
		{"https://github.com.example/o/n", "https://github.com.example/o/n"},
		{"https://gitlab.com/o/n", "https://gitlab.com/o/n"},
		{"/srv/o/n", "/srv/o/n"},
	} {
		if got := m.from(c.url); got != c.want {
			t.Errorf("%s is fetched from %s", c.url, got)
		}
	}
}
