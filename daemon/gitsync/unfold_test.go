package gitsync

import (
	"crypto/rand"
	"testing"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/runtime/git/gittest"
)

// A repository of a few KiB that unfolds to a million files is not unfolded, and what was
// accepted stays.
func TestNothingIsUnfoldedBeyondItsBound(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	commit := o.commit(texts{"a.hcl": "1"})
	h := newFixture(t, config.Git{URL: "file://" + o.dir})
	h.ok()
	gittest.Bomb(t, o.dir)
	const words = "unfolds to more than 100000 files and folders; to follow a folder of the repository alone, name it in git { path"
	h.fails(words)
	h.at(commit)
	h.holds(map[string]string{"a.hcl": "1"})

	blob := o.fed(string(make([]byte, 64<<20)), "hash-object", "-w", "--stdin")
	list := ""
	for _, name := range "abcdefghijklmnopq" { // 17 of 64 MiB
		list += "100644 blob " + blob + "\t" + string(name) + "\n"
	}
	large := o.git("commit-tree", "-m", "large", o.fed(list, "mktree"))
	o.git("update-ref", "refs/heads/main", large)
	h.fails("unfolds to more than 1.0 GiB of files")
	h.at(commit)
}

// Submodules count with the repository that names them.
func TestSubmodulesUnfoldWithinTheSameBound(t *testing.T) {
	t.Parallel()
	sub := newOrigin(t)
	gittest.Bomb(t, sub.dir)
	o := newOrigin(t)
	o.commit(texts{"a.hcl": "1", ".gitmodules": "[submodule \"x\"]\n\tpath = x\n\turl = \"" + sub.dir + "\"\n"})
	o.git("update-index", "--add", "--cacheinfo", "160000,"+sub.git("rev-parse", "main")+",x")
	o.git("commit", "--quiet", "--message=sub")
	newFixture(t, config.Git{URL: o.dir}).fails("submodule x: it unfolds to more than 100000 files and folders")
}

// What a server sends is bounded before it is looked at. Commits of the past are removed when the
// copy has no room, and a remote that is mended is followed again.
func TestTheCopyTakesNoMoreThanItMay(t *testing.T) {
	t.Parallel()
	noise := func(bytes int) string {
		text := make([]byte, bytes)
		_, _ = rand.Read(text) // it never fails
		return string(text)
	}
	o := newOrigin(t)
	o.commit(texts{"a.hcl": "1", "data": noise(400 << 10)})
	h := newFixture(t, config.Git{URL: "file://" + o.dir})
	h.most = 1 << 20
	h.ok()
	commit := ""
	for range 3 {
		commit = o.commit(texts{"data": noise(400 << 10)})
		h.ok()
		h.at(commit)
	}
	last := noise(100)
	o.commit(texts{"data": noise(2 << 20)})
	h.fails("the copy of the repository takes more than 1.0 MiB")
	h.at(commit)
	o.git("reset", "--quiet", "--hard", commit)
	commit = o.commit(texts{"data": last})
	h.ok()
	h.at(commit)
	h.holds(map[string]string{"a.hcl": "1", "data": last})
}
