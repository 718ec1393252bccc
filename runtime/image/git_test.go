package image

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

// history is a repository with a past, a future, tags, a branch and a reflog.
type history struct {
	dir                   string
	first, base, future   string
	futureBlob, tagOfBase string
}

func gitIn(t *testing.T, dir string, args ...string) string {
	t.Helper()
	g, err := git.New(t.TempDir(), git.Fetching(crawl))
	if err != nil {
		t.Fatal(err)
	}
	out, err := g.In(dir).With(
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_AUTHOR_DATE=2020-01-02T03:04:05Z",
		"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org", "GIT_COMMITTER_DATE=2020-01-02T03:04:05Z").Run(t.Context(), args...)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(out)
}

func write(t *testing.T, name, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func makeHistory(t *testing.T) history {
	t.Helper()
	h := history{dir: t.TempDir()}
	commit := func(name, content string) string {
		write(t, filepath.Join(h.dir, name), content)
		gitIn(t, h.dir, "add", "-A")
		gitIn(t, h.dir, "commit", "-q", "-m", "add "+name)
		return gitIn(t, h.dir, "rev-parse", "HEAD")
	}
	gitIn(t, h.dir, "init", "-q", "-b", "trunk")
	h.first = commit("a.txt", "one\n")
	h.base = commit("src/b.txt", "two\n")
	gitIn(t, h.dir, "tag", "-a", "-m", "a note of the release", "v1")
	h.tagOfBase = gitIn(t, h.dir, "rev-parse", "v1")
	h.future = commit("fix.txt", "the answer\n")
	h.futureBlob = gitIn(t, h.dir, "rev-parse", "HEAD:fix.txt")
	gitIn(t, h.dir, "tag", "v2")
	gitIn(t, h.dir, "branch", "side")
	return h
}

func TestACutCloneLeadsToNothingLater(t *testing.T) {
	h := makeHistory(t)
	m := &mirrors{dir: t.TempDir()}
	dir, when, err := m.cut(t.Context(), task.Repo{URL: h.dir, Commit: h.base})
	if err != nil {
		t.Fatal(err)
	}
	if want := time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC); !when.Equal(want) {
		t.Errorf("time %v, want %v", when, want)
	}
	checkCut(t, h, func(args ...string) string { return gitIn(t, dir, args...) })
	for _, gone := range []string{"logs", "FETCH_HEAD", "ORIG_HEAD", "packed-refs", "hooks"} {
		if _, err := os.Stat(filepath.Join(dir, ".git", gone)); err == nil {
			t.Errorf(".git/%s is there", gone)
		}
	}
	if b, err := os.ReadFile(filepath.Join(dir, "src/b.txt")); err != nil || string(b) != "two\n" {
		t.Errorf("src/b.txt: %q, %v", b, err)
	}
}

// checkCut asks Git itself, in the clone, what it can reach.
func checkCut(t *testing.T, h history, git func(args ...string) string) {
	t.Helper()
	for _, q := range []struct {
		args []string
		want string
	}{
		{[]string{"rev-list", "--all"}, h.base + "\n" + h.first},
		{[]string{"for-each-ref", "--format=%(refname)"}, "refs/heads/main"},
		{[]string{"symbolic-ref", "HEAD"}, "refs/heads/main"},
		{[]string{"reflog", "--all"}, ""},
		{[]string{"remote"}, ""},
		{[]string{"tag"}, ""},
		{[]string{"fsck", "--lost-found", "--no-progress"}, ""},
		{[]string{"status", "--porcelain"}, ""},
	} {
		if got := git(q.args...); got != q.want {
			t.Errorf("git %s: %q, want %q", strings.Join(q.args, " "), got, q.want)
		}
	}
	objects := git("cat-file", "--batch-all-objects", "--batch-check")
	for _, id := range []string{h.future, h.futureBlob, h.tagOfBase} {
		if strings.Contains(objects, id) {
			t.Errorf("object %s is in the clone", id)
		}
	}
}

func TestTwoCutsOfOneMirrorAreTheirOwn(t *testing.T) {
	h := makeHistory(t)
	m := &mirrors{dir: t.TempDir()}
	for _, commit := range []string{h.future, h.base} { // the later one first: the mirror has it then
		dir, _, err := m.cut(t.Context(), task.Repo{URL: h.dir, Commit: commit})
		if err != nil {
			t.Fatal(err)
		}
		if got := gitIn(t, dir, "rev-parse", "HEAD"); got != commit {
			t.Errorf("HEAD is %s, want %s", got, commit)
		}
		if commit == h.base {
			checkCut(t, h, func(args ...string) string { return gitIn(t, dir, args...) })
		}
	}
}

func TestAMirrorNeedsTheRepositoryOnce(t *testing.T) {
	h := makeHistory(t)
	m := &mirrors{dir: t.TempDir()}
	repo := task.Repo{URL: h.dir, Commit: h.base}
	if _, _, err := m.cut(t.Context(), repo); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(h.dir); err != nil {
		t.Fatal(err)
	}
	if _, _, err := m.cut(t.Context(), repo); err != nil {
		t.Errorf("second cut: %v", err)
	}
}

func TestARemoteThatGivesNoSingleCommitIsAskedForAll(t *testing.T) {
	h := makeHistory(t)
	shallow := t.TempDir()
	gitIn(t, shallow, "clone", "-q", "--bare", "--depth=2", "file://"+h.dir, ".")
	m := &mirrors{dir: t.TempDir()}
	dir, _, err := m.cut(t.Context(), task.Repo{URL: shallow, Commit: h.base})
	if err != nil {
		t.Fatal(err)
	}
	if got := gitIn(t, dir, "rev-list", "--all"); got != h.base {
		t.Errorf("a shallow source gives %q", got)
	}
}

func TestACloneUnfoldsWithinABound(t *testing.T) {
	h := makeHistory(t)
	commit := gittest.Bomb(t, h.dir)
	m := &mirrors{dir: t.TempDir()}
	dir, _, err := m.cut(t.Context(), task.Repo{URL: h.dir, Commit: commit})
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
	h := makeHistory(t)
	m := &mirrors{dir: t.TempDir(), most: 1 << 20}
	commit := func(name string, bytes int) string {
		text := make([]byte, bytes)
		_, _ = rand.Read(text) // it never fails
		gitIn(t, h.dir, "checkout", "-q", "--orphan", name)
		write(t, filepath.Join(h.dir, name), string(text))
		gitIn(t, h.dir, "add", "-A")
		gitIn(t, h.dir, "commit", "-q", "-m", name)
		return gitIn(t, h.dir, "rev-parse", "HEAD")
	}
	one := commit("one", 600<<10)
	gitIn(t, h.dir, "rm", "-q", "-f", "one")
	two := commit("two", 600<<10)
	large := commit("large", 2<<20)
	for _, c := range []string{one, two, one} {
		if _, _, err := m.cut(t.Context(), task.Repo{URL: h.dir, Commit: c}); err != nil {
			t.Fatalf("what is small enough is refused beside others: %v", err)
		}
	}
	if _, _, err := m.cut(t.Context(), task.Repo{URL: h.dir, Commit: large}); !errors.Is(err, git.ErrGrown) {
		t.Errorf("a large commit ends with %v", err)
	}
	if kept, err := filepath.Glob(filepath.Join(m.dir, "*.git")); err != nil || len(kept) != 0 {
		t.Errorf("it is kept in %v (%v)", kept, err)
	}
}

func TestTheAuditSeesWhatShouldNotBeThere(t *testing.T) {
	h := makeHistory(t)
	for _, c := range []struct {
		name, want string
		spoil      func(dir string)
	}{
		{"a blob that nothing leads to", "holds object", func(dir string) {
			write(t, filepath.Join(dir, "x"), "leak")
			gitIn(t, dir, "hash-object", "-w", "x")
		}},
		{"a tag", "has the refs", func(dir string) { gitIn(t, dir, "tag", "v9") }},
		{"a remote", "knows a remote", func(dir string) { gitIn(t, dir, "remote", "add", "origin", h.dir) }},
		{"a reflog", "has .git/logs", func(dir string) { write(t, filepath.Join(dir, ".git/logs/HEAD"), "") }},
		{"objects of somebody else", "has .git/objects/info/alternates", func(dir string) {
			write(t, filepath.Join(dir, ".git/objects/info/alternates"), filepath.Join(h.dir, ".git/objects")+"\n")
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := &mirrors{dir: t.TempDir()}
			dir, _, err := m.cut(t.Context(), task.Repo{URL: h.dir, Commit: h.base})
			if err != nil {
				t.Fatal(err)
			}
			c.spoil(dir)
			if err := audit(t.Context(), m.git.In(dir), dir, h.base); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestReposThatCannotBeCut(t *testing.T) {
	h := makeHistory(t)
	marker := filepath.Join(t.TempDir(), "ran")
	for _, c := range []struct {
		name string
		repo task.Repo
		want string
	}{
		{"a short hash", task.Repo{URL: h.dir, Commit: h.base[:12]}, "full hash"},
		{"a tag", task.Repo{URL: h.dir, Commit: "v1"}, "full hash"},
		{"a commit that is not there", task.Repo{URL: h.dir, Commit: strings.Repeat("1", 40)}, "no such commit"},
		{"a blob", task.Repo{URL: h.dir, Commit: h.futureBlob}, "no such commit"},
		{"a folder that is not there", task.Repo{URL: h.dir + "-not", Commit: h.base}, "git fetch"},
		{"an option for a URL", task.Repo{URL: "--upload-pack=touch " + marker, Commit: h.base}, "URL"},
		{"a URL that runs a program", task.Repo{URL: "ext::sh -c 'touch " + marker + "'", Commit: h.base}, "not allowed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := &mirrors{dir: t.TempDir()}
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
	m := &mirrors{dir: t.TempDir()}
	_, _, err := m.cut(t.Context(), task.Repo{URL: "/x", Commit: strings.Repeat("1", 40)})
	if err == nil || !strings.Contains(err.Error(), "git is not installed on this machine") {
		t.Errorf("got %v", err)
	}
}

func TestTheUsersGitConfigurationDoesNotCount(t *testing.T) {
	home := t.TempDir()
	marker := filepath.Join(home, "ran")
	write(t, filepath.Join(home, ".gitconfig"), "[core]\n\tfsmonitor = touch "+marker+"\n[commit]\n\tgpgsign = true\n")
	t.Setenv("HOME", home)
	t.Setenv("GIT_DIR", home)
	h := makeHistory(t)
	m := &mirrors{dir: t.TempDir()}
	if _, _, err := m.cut(t.Context(), task.Repo{URL: h.dir, Commit: h.base}); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(marker); err == nil {
		t.Error("the user's configuration ran a program")
	}
}

func TestTarsOfAFolderAreEqual(t *testing.T) {
	h := makeHistory(t)
	when := time.Unix(1, 0).UTC()
	if err := os.Symlink("a.txt", filepath.Join(h.dir, "link")); err != nil {
		t.Fatal(err)
	}
	var tars [2]bytes.Buffer
	for i := range tars {
		tw := tar.NewWriter(&tars[i])
		if err := tarFolder(tw, h.dir, when); err != nil {
			t.Fatal(err)
		}
		if err := tw.Close(); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(filepath.Join(h.dir, "a.txt"), time.Unix(99, 0), time.Unix(99, 0)); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(tars[0].Bytes(), tars[1].Bytes()); diff != "" {
		t.Error(diff)
	}
}

func TestWhatACrashLeftInTheCacheGoes(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, cutPrefix+"1", "f"), "")
	write(t, filepath.Join(dir, spoolPrefix+"1"), "")
	write(t, filepath.Join(dir, "0123456789abcdef.git", "HEAD"), "")
	if err := New(Options{CacheDir: dir}).Tidy(); err != nil { // also where nothing is ever built again
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

var errNoTree = errors.New("no such tree")

func TestACloneIsATarOfTheCutRepository(t *testing.T) {
	h := makeHistory(t)
	cache := t.TempDir()
	b := New(Options{CacheDir: cache})
	rc, err := b.Clone(t.Context(), task.Repo{URL: h.dir, Commit: h.base})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	untar(t, rc, dir)
	if err := errors.Join(rc.Close(), rc.Close()); err != nil {
		t.Error(err)
	}
	checkCut(t, h, func(args ...string) string { return gitIn(t, dir, args...) })

	rc, err = b.Clone(t.Context(), task.Repo{URL: h.dir, Commit: h.base}) // that nobody reads
	if err != nil {
		t.Fatal(err)
	}
	if err := rc.Close(); err != nil {
		t.Error(err)
	}
	if _, err := b.Clone(t.Context(), task.Repo{URL: h.dir, Commit: strings.Repeat("1", 40)}); err == nil {
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
			write(t, filepath.Join(dir, h.Name), string(text))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestAMirrorOfGitHubIsAskedInItsPlace(t *testing.T) {
	h := makeHistory(t)
	hub := t.TempDir()
	if err := os.Mkdir(filepath.Join(hub, "owner"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(h.dir, filepath.Join(hub, "owner", "name.git")); err != nil {
		t.Fatal(err)
	}
	b := New(Options{CacheDir: t.TempDir(), BuildSecrets: BuildSecrets{Mirrors: map[string]string{"git": "file://" + hub + "/"}, Forge: "https://ghe.example"}})
	rc, err := b.Clone(t.Context(), task.Repo{URL: "https://github.com/owner/name.git", Commit: h.base})
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
		if got := b.mirrors.from(c.url); got != c.want {
			t.Errorf("%s is fetched from %s", c.url, got)
		}
	}
}

func TestAPasswordOfAMirrorIsInNoMessage(t *testing.T) {
	b := New(Options{CacheDir: t.TempDir(), BuildSecrets: BuildSecrets{Mirrors: map[string]string{"git": "http://bot:s3cr3tword@127.0.0.1:1"}}})
	_, err := b.Clone(t.Context(), task.Repo{URL: "https://github.com/owner/name", Commit: strings.Repeat("1", 40)})
	if err == nil || !strings.Contains(err.Error(), "git fetch") || strings.Contains(err.Error(), "s3cr3tword") {
		t.Errorf("got %v", err)
	}
}
