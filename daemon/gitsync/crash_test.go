package gitsync

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/assayd/assayd/config"
)

// victim makes a child of the test binary follow a repository until it is killed.
const victim = "ASSAYD_GITSYNC_TEST_VICTIM"

func suffer(state, url string) {
	s, err := Open(context.Background(), Options{
		Git: config.Git{URL: url, Interval: time.Millisecond, Path: "specs"}, State: state, Log: slog.New(slog.DiscardHandler),
		Took: func(context.Context, []string) (config.Diagnostics, error) { return nil, nil },
	})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("begun")
	s.Run(context.Background())
}

// Killed at any moment of a fetch or a checkout, the tree is one commit's as soon as the next
// process has opened it, and goes on from there.
func TestKilledAtAnyMomentTheTreeIsWhole(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	const files, rounds = 200, 6
	commitOf := func(n int) {
		all := texts{}
		for i := range files {
			all[fmt.Sprintf("specs/%d/a%d.hcl", i%20, i)] = fmt.Sprintf("%d %s", n, strings.Repeat("x", 2000))
		}
		o.commit(all)
	}
	commitOf(0)
	h := newFixture(t, config.Git{URL: o.dir, Path: "specs"})
	h.ok()
	h.result("specs/0/a0.run.x.jsonl", "{1}\n")
	halves := 0
	for n := 1; n <= rounds; n++ {
		commitOf(n)
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), victim+"="+h.opts.State, victim+"_URL="+o.dir)
		out, err := child.StdoutPipe()
		if err == nil {
			err = child.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		said := make([]byte, 6)
		if _, err := out.Read(said); err != nil || string(said) != "begun\n" {
			t.Fatalf("the child said %q, %v", said, err)
		}
		if n%2 == 0 { // in the checkout itself
			until(t, "the checkout begins", func() bool {
				m, err := recall(h.dir)
				return err == nil && (m.Next != (place{}) || m.Now.Commit == o.git("rev-parse", "HEAD"))
			})
		} else {
			interrupt := time.After(time.Duration(rand.IntN(250)) * time.Millisecond)
			<-interrupt
		}
		child.Process.Kill()
		child.Wait() // says that it was killed
		if m, err := recall(h.dir); err == nil && m.Next != (place{}) {
			halves++
		}
		h.open()
		if !h.shown() {
			t.Fatal("the tree is held back")
		}
		oneCommit(t, h, files)
	}
	h.ok()
	if oneCommit(t, h, files) != itoa(rounds) {
		t.Error("the last commit is not there")
	}
	t.Logf("%d of %d were killed in a checkout", halves, rounds)
}

// oneCommit fails unless all files of the tree are of one commit, and returns which.
func oneCommit(t *testing.T, h *fixture, files int) (of string) {
	t.Helper()
	n := 0
	err := filepath.WalkDir(filepath.Join(h.dir, treeName), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(path, ".jsonl") {
			return err
		}
		n++
		text, err := os.ReadFile(path)
		version, rest, _ := strings.Cut(string(text), " ")
		if of == "" {
			of = version
		}
		if version != of || len(rest) != 2000 {
			return fmt.Errorf("%s is of %q with %d bytes, others are of %q", path, version, len(rest), of)
		}
		return err
	})
	text, rerr := os.ReadFile(filepath.Join(h.dir, treeName, "specs/0/a0.run.x.jsonl"))
	if err = errors.Join(err, rerr); err != nil || n != files || string(text) != "{1}\n" {
		t.Fatalf("the tree has %d files and the result %q: %v", n, text, err)
	}
	return of
}

// A checkout that stopped half way is completed when the next process opens the tree.
func TestAHalfDoneCheckoutIsCompletedBeforeAnybodyLooks(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	o.commit(texts{"a.hcl": "1", "b.hcl": "1", "gone.hcl": "1"})
	h := newFixture(t, config.Git{URL: o.dir})
	h.ok()
	second := o.commit(texts{"a.hcl": "2", "b.hcl": "2", "gone.hcl": "", "new/c.hcl": "2"})
	tree := plantOnly(t, h)
	if err := h.remember(func(m *memory) { m.Next = place{second, tree} }); err != nil {
		t.Fatal(err)
	}
	h.write("a.hcl", "2")
	h.write("b.hcl", "") // cut off in its middle
	h.write("new/c.hcl", "hal")
	for _, lock := range []string{indexName + ".lock", repoName + "/shallow.lock", repoName + "/refs/assayd/commit.lock", repoName + "/config.lock"} {
		if err := os.WriteFile(filepath.Join(h.dir, lock), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(h.dir, keyPrefix+"123"), []byte("left by a crash"), 0o600); err != nil {
		t.Fatal(err)
	}
	h.open()
	h.at(second)
	h.holds(texts{"a.hcl": "2", "b.hcl": "2", "new/c.hcl": "2"})
	if keys, _ := filepath.Glob(filepath.Join(h.dir, keyPrefix+"*")); len(keys) > 0 {
		t.Error("a key that a crash left is still there")
	}
	before := len(h.looks)
	h.ok()
	if len(h.looks) != before+1 {
		t.Error("nobody has looked at the completed commit")
	}
}

// While a checkout cannot be completed the tree is held back.
func TestATreeThatIsHalfDoneIsHeldBack(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	first := o.commit(texts{"a.hcl": "1"})
	h := newFixture(t, config.Git{URL: o.dir})
	h.ok()
	release, ok := h.Checkout().Hold()
	if !ok {
		t.Fatal("a whole tree is held back")
	}
	done := make(chan error, 1)
	second := o.commit(texts{"a.hcl": "2"})
	go func() { done <- h.round(t.Context()) }()
	until(t, "the new commit is here", func() bool { return strings.Contains(must(h.git.Run(t.Context(), "for-each-ref")), second) })
	h.at(first)
	h.holds(texts{"a.hcl": "1"}) // who looks at it keeps it as it is
	release()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	h.at(second)

	if err := h.remember(func(m *memory) { m.Next = place{second, strings.Repeat("ab", 20)} }); err != nil {
		t.Fatal(err)
	}
	h.open()
	if h.shown() {
		t.Error("a tree that could not be completed is shown")
	}
	if !strings.Contains(h.log.String(), "cannot be completed") {
		t.Errorf("that is not logged:\n%s", h.log)
	}
	third := o.commit(texts{"a.hcl": "3"}) // a good commit mends it
	h.ok()
	h.at(third)
	if !h.shown() {
		t.Error("the mended tree is held back")
	}
}

func TestADamagedCopyIsMadeAnew(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	o.commit(texts{"a.hcl": "1", "gone.hcl": "1"})
	h := newFixture(t, config.Git{URL: o.dir})
	h.ok()
	h.write("a.run.x.jsonl", "{1}\n")
	if err := os.Remove(filepath.Join(h.dir, repoName, "HEAD")); err != nil {
		t.Fatal(err)
	}
	h.open()
	second := o.commit(texts{"a.hcl": "2", "gone.hcl": ""})
	h.ok()
	h.at(second)
	h.holds(texts{"a.hcl": "2", "a.run.x.jsonl": "{1}\n"})
}

// plantOnly brings the present commit without checking it out.
func plantOnly(t *testing.T, h *fixture) string {
	t.Helper()
	commit, err := h.fetch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	tree, err := h.plant(t.Context(), commit)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// When a checkout cannot be completed, the commit after it takes away what that one left.
func TestAnotherCommitClearsAwayHalfACheckout(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	first := o.commit(texts{"a.hcl": "1"})
	h := newFixture(t, config.Git{URL: o.dir})
	h.ok()
	second := o.commit(texts{"a.hcl": "2", "new/c.hcl": "2"})
	half := place{second, plantOnly(t, h)}
	if err := h.remember(func(m *memory) { m.Next = half }); err != nil {
		t.Fatal(err)
	}
	h.write("new/c.hcl", "hal")
	h.write("dear", "not of the repository")
	o.git("reset", "--quiet", "--hard", first)
	third := o.commit(texts{"a.hcl": "3"})
	if _, err := h.turn(t.Context(), place{third, plantOnly(t, h)}); err != nil {
		t.Fatal(err)
	}
	h.at(third)
	h.holds(texts{"a.hcl": "3", "dear": "not of the repository"})
}
