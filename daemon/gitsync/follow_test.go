package gitsync

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/assayd/assayd/config"
)

func TestATreeFollowsABranchWithoutHistory(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	o.commit(texts{"a.hcl": "old", "team/gone.hcl": "x", "kind": "file"})
	first := o.commit(texts{"a.hcl": "1", "link": "elsewhere"})
	h := newFixture(t, config.Git{URL: o.dir})
	h.ok()
	h.at(first)
	h.holds(texts{"a.hcl": "1", "team/gone.hcl": "x", "kind": "file", "link": "elsewhere"})
	if n := strings.TrimSpace(must(h.git.Run(t.Context(), "rev-list", "--count", first))); n != "1" {
		t.Errorf("%s commits were fetched, want 1", n)
	}
	if _, err := os.Stat(filepath.Join(h.dir, treeName, ".git")); err == nil {
		t.Error("the tree has a .git")
	}

	h.ok() // nothing new
	second := o.commit(texts{"a.hcl": "2", "team/gone.hcl": "", "kind": "", "kind/is/folder.hcl": "now"})
	h.ok()
	h.at(second)
	h.holds(texts{"a.hcl": "2", "link": "elsewhere", "kind/is/folder.hcl": "now"})
	if len(h.looks) != 2 || h.looks[0] != nil {
		t.Errorf("the specs were read %d times, want once for each commit: %v", len(h.looks), h.looks)
	}
	if want := filepath.Join(h.dir, treeName, "a.hcl"); len(h.looks[1]) != 4 || h.looks[1][0] != want {
		t.Errorf("said to have changed are %v, want %s first of 4", h.looks[1], want)
	}
}

func TestWhatARefMayBe(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	first := o.commit(texts{"a.hcl": "1"})
	o.git("tag", "light")
	o.git("tag", "--annotate", "--message=x", "heavy")
	o.git("branch", "side/way")
	second := o.commit(texts{"a.hcl": "2"})
	o.git("tag", "main") // a branch comes before a tag
	o.commit(texts{"a.hcl": "3"})
	o.git("reset", "--quiet", "--hard", second)
	o.git("update-ref", "refs/tags/main", first)
	for ref, want := range map[string]string{
		"": second, "HEAD": second, "main": second, "light": first, "heavy": first, "side/way": first,
		"refs/tags/main": first, first: first, "refs/heads/main": second,
	} {
		h := newFixture(t, config.Git{URL: "file://" + o.dir, Ref: ref})
		h.ok()
		h.at(want)
	}
	for ref, words := range map[string]string{
		"away": `no branch or tag "away"`, first[:10]: "no branch or tag",
		strings.Repeat("0123456789", 4): "not our ref",
	} {
		newFixture(t, config.Git{URL: o.dir, Ref: ref}).fails(words)
	}
}

func TestForcePushesAndBranchesThatGoAndComeBack(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	first := o.commit(texts{"a.hcl": "1"})
	o.git("checkout", "--quiet", "-b", "other")
	o.commit(texts{"b.hcl": "b"})
	h := newFixture(t, config.Git{URL: o.dir, Ref: "other"})
	h.ok()
	h.holds(texts{"a.hcl": "1", "b.hcl": "b"})

	o.git("reset", "--quiet", "--hard", first) // history is written anew
	forced := o.commit(texts{"c.hcl": "c"})
	h.ok()
	h.at(forced)
	h.holds(texts{"a.hcl": "1", "c.hcl": "c"})

	o.git("checkout", "--quiet", "main")
	o.git("branch", "-D", "other")
	h.fails(`no branch or tag "other"`)
	h.at(forced)
	h.holds(texts{"a.hcl": "1", "c.hcl": "c"})
	if got := h.Status().Error; !strings.Contains(got, "other") {
		t.Errorf("the status says %q", got)
	}
	h.fails("other")
	if n := strings.Count(h.log.String(), "cannot be followed"); n != 1 {
		t.Errorf("that the branch is gone is logged %d times, want once", n)
	}

	o.git("branch", "other", first)
	h.ok()
	h.at(first)
	if got := h.Status().Error; got != "" {
		t.Errorf("the status still says %q", got)
	}
}

func TestAPathIsAllThatIsFetched(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	commit := o.commit(texts{"specs/team/a.hcl": "1", "huge.bin": "never wanted", "specs.txt": "x"})
	blob := o.git("rev-parse", "HEAD:huge.bin")
	h := newFixture(t, config.Git{URL: "file://" + o.dir, Path: "specs"})
	h.ok()
	h.at(commit)
	h.holds(texts{"specs/team/a.hcl": "1"})
	all := must(h.git.Run(t.Context(), "cat-file", "--batch-all-objects", "--batch-check"))
	if strings.Contains(all, blob) {
		t.Error("a file outside the path was fetched")
	}
	o.commit(texts{"specs/team/a.hcl": "2", "specs/b.hcl": "b"})
	h.ok()
	h.holds(texts{"specs/team/a.hcl": "2", "specs/b.hcl": "b"})

	o.commit(texts{"specs": "", "other.hcl": "x"}) // a commit that cannot be checked out
	h.fails(`no folder "specs"`)
	h.holds(texts{"specs/team/a.hcl": "2", "specs/b.hcl": "b"})
	o.commit(texts{"specs/c.hcl": "c"})
	h.ok()
	h.holds(texts{"specs/c.hcl": "c"})
}

func TestAnotherPathInTheSettingsIsCheckedOut(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	o.commit(texts{"one/a.hcl": "1", "two/a.hcl": "2"})
	h := newFixture(t, config.Git{URL: o.dir, Path: "one"})
	h.ok()
	h.opts.Git.Path = "two"
	h.open()
	h.ok()
	h.holds(texts{"two/a.hcl": "2"})
}

func TestSubmodulesAreThereAtTheirRecordedCommits(t *testing.T) {
	t.Parallel()
	inner, middle, o := newOrigin(t), newOrigin(t), newOrigin(t)
	inner.commit(texts{"deep.txt": "1"})
	middle.git("submodule", "--quiet", "add", inner.dir, "in ner")
	middle.commit(texts{"m.txt": "1"})
	o.git("submodule", "--quiet", "add", middle.dir, "specs/data")
	o.git("submodule", "--quiet", "add", inner.dir, "outside")
	first := o.commit(texts{"specs/a.hcl": "1"})
	middle.commit(texts{"m.txt": "not recorded"})
	inner.commit(texts{"deep.txt": "not recorded"})
	h := newFixture(t, config.Git{URL: o.dir, Path: "specs"})
	h.ok()
	h.at(first)
	want := texts{"specs/a.hcl": "1", "specs/data/m.txt": "1", "specs/data/in ner/deep.txt": "1", "specs/data/.gitmodules": ""}
	want["specs/data/.gitmodules"] = middle.git("show", "HEAD:.gitmodules") + "\n"
	h.holds(want)

	bumped := middle.git("rev-parse", "HEAD")
	o.git("update-index", "--cacheinfo", "160000,"+bumped+",specs/data")
	o.git("commit", "--quiet", "--message=bump")
	h.ok()
	want["specs/data/m.txt"] = "not recorded"
	h.holds(want)

	o.git("update-index", "--cacheinfo", "160000,"+strings.Repeat("ab", 20)+",specs/data")
	o.git("commit", "--quiet", "--message=broken")
	h.fails("submodule specs/data")
	h.holds(want)
}

func TestASubmoduleMayNotRunCommandsNorReadThisMachine(t *testing.T) {
	t.Parallel()
	for url, words := range map[string]string{
		"ext::sh -c touch% /tmp/assayd-owned": "not supported",
		"-oProxyCommand=touch":                "none",
		"fd::17":                              "not supported",
		"s3://bucket/x":                       "not supported",
	} {
		o := newOrigin(t)
		o.commit(texts{".gitmodules": "[submodule \"x\"]\n\tpath = x\n\turl = \"" + url + "\"\n"})
		o.git("update-index", "--add", "--cacheinfo", "160000,"+strings.Repeat("ab", 20)+",x")
		o.git("commit", "--quiet", "--message=bad")
		newFixture(t, config.Git{URL: o.dir}).fails(words)
	}
	far := remote{url: "https://git.example/team/specs.git"}
	for _, local := range []string{"/etc", "file:///etc", "relative"} {
		if _, err := far.beside(local); err == nil {
			t.Errorf("a repository elsewhere may have a submodule at %s", local)
		}
	}
}

func TestAddressesBesideOthers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ parent, raw, want string }{
		{"https://h/a/b.git", "../c.git", "https://h/a/c.git"},
		{"https://h/a/b.git", "../../x/c", "https://h/x/c"},
		{"git@h:a/b.git", "../c.git", "git@h:a/c.git"},
		{"ssh://git@h:22/a/b", "./c", "ssh://git@h:22/a/b/c"},
		{"/srv/a", "../b", "/srv/b"},
		{"https://h/a", "git@other:x/y.git", "git@other:x/y.git"},
		{"https://h/a", "https://user:pass@other/x", "https://other/x"},
	} {
		parent, err := parseRemote(tt.parent)
		if err != nil {
			t.Fatal(err)
		}
		got, err := parent.beside(tt.raw)
		if err != nil || got.url != tt.want {
			t.Errorf("%s beside %s is %q (%v), want %q", tt.raw, tt.parent, got.url, err, tt.want)
		}
	}
	if r, err := parseRemote("git@h:a.git"); err != nil {
		t.Fatal(err)
	} else if got, err := r.beside("../../../x"); err == nil {
		t.Errorf("it leads out to %q", got.url)
	}
}

// A repository with a long history costs no more than one without.
func TestALargeHistoryIsNotFetched(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	const commits = 20_000
	var history strings.Builder
	for i := range commits {
		text := strings.Repeat("x", i%1000)
		history.WriteString("commit refs/heads/main\ncommitter a <a@b> 1700000000 +0000\ndata 1\nx\n")
		history.WriteString("M 100644 inline data/" + string(rune('a'+i%26)) + ".txt\ndata " + itoa(len(text)) + "\n" + text + "\n")
	}
	history.WriteString("commit refs/heads/main\ncommitter a <a@b> 1700000000 +0000\ndata 1\nx\nM 100644 inline a.hcl\ndata 1\n1\ndone\n")
	o.fed(history.String(), "fast-import", "--quiet", "--done")
	o.git("reset", "--quiet", "--hard", "main")
	h := newFixture(t, config.Git{URL: "file://" + o.dir})
	began := time.Now()
	h.ok()
	took := time.Since(began)
	count := strings.TrimSpace(must(h.git.Run(t.Context(), "rev-list", "--all", "--count")))
	if count != "1" {
		t.Errorf("%s commits of %d were fetched, want 1", count, commits)
	}
	size := folderSize(t, filepath.Join(h.dir, repoName))
	t.Logf("%d commits: the copy took %s and %d KiB", commits, took.Round(time.Millisecond), size>>10)
	if size > 1<<20 {
		t.Errorf("the copy has %d bytes", size)
	}
	began = time.Now()
	o.commit(texts{"a.hcl": "2"})
	h.ok()
	t.Logf("the next commit took %s", time.Since(began).Round(time.Millisecond))
}

func TestTheRepositoryDoesNotGrowWithoutEnd(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	h := newFixture(t, config.Git{URL: "file://" + o.dir})
	for i := range 8 {
		o.commit(texts{"a.hcl": "text " + itoa(i)})
		h.ok()
	}
	packs, _ := filepath.Glob(filepath.Join(h.dir, repoName, "objects", "pack", "*.pack"))
	loose, _ := filepath.Glob(filepath.Join(h.dir, repoName, "objects", "??"))
	before := len(packs) + len(loose)
	if _, err := h.git.Run(t.Context(), "-c", "gc.auto=1", "-c", "gc.autoPackLimit=1", "gc", "--quiet", "--prune=now"); err != nil {
		t.Fatal(err)
	}
	packs, _ = filepath.Glob(filepath.Join(h.dir, repoName, "objects", "pack", "*.pack"))
	loose, _ = filepath.Glob(filepath.Join(h.dir, repoName, "objects", "??"))
	if before < 8 || len(packs) != 1 || len(loose) != 0 {
		t.Errorf("of %d folders and packs, %d packs and %d folders of objects are left", before, len(packs), len(loose))
	}
	h.holds(texts{"a.hcl": "text 7"})
	o.commit(texts{"a.hcl": "after"})
	h.ok() // what the tree is made of was not collected
	h.holds(texts{"a.hcl": "after"})
}

func TestRunFollowsByItselfAndWhenNudged(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	o.commit(texts{"a.hcl": "1"})
	for name, interval := range map[string]time.Duration{"poll": 20 * time.Millisecond, "nudge": time.Hour} {
		h := newFixture(t, config.Git{URL: o.dir, Interval: interval})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- h.Syncer.Run(ctx) }()
		until(t, "the first commit is there", func() bool { return h.Status().Verdict != "" })
		commit := o.commit(texts{"a.hcl": name})
		if name == "nudge" {
			h.Nudge()
		}
		until(t, name+" brings the next commit", func() bool { s := h.Status(); return s.Commit == commit && s.Verdict == "accepted" })
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

func TestPauses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		interval time.Duration
		failures int
		want     time.Duration
	}{
		{time.Minute, 0, time.Minute},
		{time.Minute, 1, 2 * time.Minute},
		{time.Minute, 3, 8 * time.Minute},
		{time.Minute, 100, longestPause},
		{time.Hour, 4, time.Hour},
	} {
		for range 50 {
			if got := pause(tt.interval, tt.failures); got < tt.want*9/10 || got > tt.want*11/10 {
				t.Errorf("after %d failures the pause of %s is %s, want about %s", tt.failures, tt.interval, got, tt.want)
			}
		}
	}
}
