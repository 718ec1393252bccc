package gitsync

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/runtime/git/gittest"
)

func TestResultFilesSurviveEveryCheckout(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	first := o.commit(texts{"team/a.hcl": "1", "b.hcl": "1"})
	h := newFixture(t, config.Git{URL: o.dir})
	h.ok()
	h.result("team/a.run.x.jsonl", "{1}\n")
	h.result("b.status.jsonl", "{2}\n")
	mined := texts{"mined/task-1/task.json": "{}"} // what a spec made, of days perhaps
	h.write("mined/task-1/task.json", "{}")
	results := texts{"team/a.run.x.jsonl": "{1}\n", "b.status.jsonl": "{2}\n"}
	with := func(files texts) texts {
		for _, more := range []texts{results, mined} {
			for name, text := range more {
				files[name] = text
			}
		}
		return files
	}
	o.commit(texts{"team": "", "b.hcl": "2"}) // the folder is removed
	h.ok()
	h.holds(with(texts{"b.hcl": "2"}))
	o.git("checkout", "--quiet", "--orphan", "fresh") // the branch has another history
	o.git("rm", "-rfq", ".")
	o.commit(texts{"other.hcl": "1"})
	o.git("branch", "-M", "main")
	h.ok()
	h.holds(with(texts{"other.hcl": "1"}))
	o.git("reset", "--quiet", "--hard", first)
	h.ok()
	h.holds(with(texts{"team/a.hcl": "1", "b.hcl": "1"}))

	// The repository has files of those names, as when the results were merged: ours stay.
	o.commit(texts{"team/a.run.x.jsonl": "{forged}\n", "b.status.2.jsonl": "x", "b.data.jsonl": "data"})
	h.ok()
	h.holds(with(texts{"team/a.hcl": "1", "b.hcl": "1", "b.data.jsonl": "data"}))
	o.commit(texts{"team/a.run.x.jsonl": "", "b.status.2.jsonl": ""})
	h.ok()
	h.holds(with(texts{"team/a.hcl": "1", "b.hcl": "1", "b.data.jsonl": "data"}))
}

func TestWhatIsNotOfTheRepositoryIsNeverOverwritten(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	first := o.commit(texts{"a.hcl": "1", "team/a.hcl": "1"})
	h := newFixture(t, config.Git{URL: o.dir})
	h.ok()
	h.write("mined/task", "dear")
	h.write("note", "dear")
	for what, files := range map[string]texts{
		"mined/task is in the way": {"mined": "a file where the folder is"},
		"note is in the way":       {"note/a.hcl": "a folder where the file is"},
	} {
		o.commit(files)
		h.fails(what)
		h.at(first)
		h.holds(texts{"a.hcl": "1", "team/a.hcl": "1", "mined/task": "dear", "note": "dear"})
		o.git("reset", "--quiet", "--hard", first)
	}

	// A folder of nothing but results gives way: they are written again elsewhere.
	h.result("team/a.run.x.jsonl", "{1}\n")
	o.commit(texts{"team": ""})
	o.commit(texts{"team": "a file"})
	h.ok()
	h.holds(texts{"a.hcl": "1", "team": "a file", "mined/task": "dear", "note": "dear"})

	// What somebody changed in a file of the repository gives way as well.
	h.write("a.hcl", "edited here")
	o.commit(texts{"b.hcl": "1"})
	h.ok()
	h.holds(texts{"a.hcl": "1", "b.hcl": "1", "team": "a file", "mined/task": "dear", "note": "dear"})
}

func TestALinkThatLeavesTheRepositoryIsNotWrittenThrough(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	o := newOrigin(t)
	if err := os.Symlink(outside, filepath.Join(o.dir, "out")); err != nil {
		t.Fatal(err)
	}
	o.commit(texts{"a.hcl": "1"})
	h := newFixture(t, config.Git{URL: o.dir})
	h.ok()
	if err := os.Remove(filepath.Join(o.dir, "out")); err != nil {
		t.Fatal(err)
	}
	o.commit(texts{"out/a.hcl": "inside"})
	h.ok()
	h.holds(texts{"a.hcl": "1", "out/a.hcl": "inside"})
	if left, err := os.ReadDir(outside); err != nil || len(left) > 0 {
		t.Errorf("outside is %v, %v", left, err)
	}
}

func TestResultFilesArePushedToABranchOfTheirOwn(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	specs := o.commit(texts{"specs/a.hcl": "1"})
	h := newFixture(t, config.Git{URL: o.dir, Path: "specs", PushResults: "results"})
	h.ok()
	push := func() {
		t.Helper()
		if err := h.pushAll(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	push() // there is nothing yet
	if got := o.git("for-each-ref", "refs/heads"); strings.Contains(got, "results") {
		t.Fatalf("an empty branch was made: %s", got)
	}
	h.result("specs/a.run.x.jsonl", "{1}\n{torn")
	push()
	push() // nothing is new
	if got := o.git("log", "--format=%an %s", "results"); got != "assayd Results of "+specs {
		t.Errorf("the log is %q", got)
	}
	if got := o.git("show", "results:specs/a.run.x.jsonl"); got != "{1}" {
		t.Errorf("pushed is %q, want whole lines only", got)
	}
	if got := o.git("rev-list", "--count", "results"); got != "1" {
		t.Errorf("the branch is not one of its own: %q", got)
	}

	// Somebody else pushes to it meanwhile; both are kept.
	h.write("specs/a.run.x.jsonl", "{1}\n{2}\n")
	o.git("checkout", "--quiet", "results")
	theirs := o.commit(texts{"README": "theirs"})
	o.git("checkout", "--quiet", "main")
	push()
	if got := o.git("show", "results:README") + o.git("show", "results:specs/a.run.x.jsonl"); got != "theirs{1}\n{2}" {
		t.Errorf("on the branch is %q", got)
	}
	if parent := o.git("rev-parse", "results^"); parent != theirs {
		t.Errorf("the push is on top of %s, want %s", parent, theirs)
	}
	if got := h.Status().Results; got == nil || got.Commit != o.git("rev-parse", "results") || got.Error != "" {
		t.Errorf("the status says %+v", got)
	}
	h.holds(texts{"specs/a.hcl": "1", "specs/a.run.x.jsonl": "{1}\n{2}\n"})
}

// A push that is overtaken between looking and pushing is rebuilt on top of the other.
func TestAPushThatIsOvertakenIsRebuilt(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	o.commit(texts{"a.hcl": "1"})
	h := newFixture(t, config.Git{URL: o.dir, PushResults: "results"})
	h.ok()
	h.result("a.run.x.jsonl", "{1}\n")
	races := 0
	list := h.opts.Results
	err := h.pushing(t.Context(), refResults, "refs/heads/results", func(head string) error {
		files, err := list(t.Context())
		if err != nil {
			return err
		}
		if err := h.commitResults(t.Context(), files, head); err != nil || races == 2 {
			return err
		}
		races++
		o.git("checkout", "--quiet", "-B", "results")
		o.commit(texts{"theirs" + itoa(races): "x"})
		o.git("checkout", "--quiet", "main")
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := o.git("ls-tree", "--name-only", "results"); got != "a.hcl\na.run.x.jsonl\ntheirs1\ntheirs2" && got != "a.hcl\na.run.x.jsonl\ntheirs2" {
		t.Errorf("on the branch is %q", got)
	}
	if got := o.git("log", "-1", "--format=%an", "results"); got != "assayd" {
		t.Errorf("the last commit is by %q", got)
	}
}

func TestAPushThatIsRefusedIsSaidOnce(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	o.commit(texts{"a.hcl": "1"})
	hook := filepath.Join(o.dir, ".git", "hooks", "pre-receive")
	if err := os.WriteFile(hook, []byte("#!/bin/sh\necho no results here >&2\nexit 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	base, _ := gittest.Serve(t, o.dir, token)
	h := newFixture(t, config.Git{URL: base + "/team/specs.git", Token: config.SecretText(token), PushResults: "results"})
	h.round(t.Context()) // the note is refused as well
	h.at(o.git("rev-parse", "HEAD"))
	h.result("a.run.x.jsonl", "{1}\n")
	for range 2 {
		if h.pushAll(t.Context()) == nil {
			t.Fatal("the push is not refused")
		}
	}
	if n := strings.Count(h.log.String(), "result files cannot be pushed"); n != 1 {
		t.Errorf("it is said %d times:\n%s", n, h.log)
	}
	if got := h.Status().Results.Error; !strings.Contains(got, "no results here") {
		t.Errorf("the status says %q", got)
	}
}

func TestSettingsThatCannotWork(t *testing.T) {
	t.Parallel()
	for words, g := range map[string]config.Git{
		"push_results": {URL: "https://h/x", Ref: "main", PushResults: "main"},
		"transport":    {URL: "ftp://h/x"},
		"not support":  {URL: "ext::sh -c true"},
		"is none":      {URL: "-x"},
	} {
		if err := Check(g, nil); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%+v: %v, want %q", g, err, words)
		}
	}
}
