package gitsync

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/assayd/assayd/config"
)

func TestMain(m *testing.M) {
	if state := os.Getenv(victim); state != "" {
		suffer(state, os.Getenv(victim+"_URL"))
		return
	}
	goleak.VerifyTestMain(m)
}

// patience bounds every wait for something that should happen soon.
const patience = time.Minute

// origin is a repository that others push to, with a work tree of its own.
type origin struct {
	*testing.T
	dir string
}

func newOrigin(t *testing.T) *origin {
	t.Helper()
	o := &origin{t, filepath.Join(t.TempDir(), "origin")}
	if err := os.Mkdir(o.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	o.git("init", "--quiet", "--initial-branch=main")
	o.git("config", "uploadpack.allowFilter", "true")
	o.git("config", "http.receivepack", "true")
	return o
}

func (o *origin) git(args ...string) string {
	o.Helper()
	return o.fed("", args...)
}

func (o *origin) fed(in string, args ...string) string {
	o.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Stdin = o.dir, strings.NewReader(in)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b",
		"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b", "GIT_ALLOW_PROTOCOL=file")
	out, err := cmd.CombinedOutput()
	if err != nil {
		o.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// commit writes files, removes those without a text, and returns the new commit.
func (o *origin) commit(files map[string]string) string {
	o.Helper()
	for name, text := range files {
		if path := filepath.Join(o.dir, name); text == "" {
			if err := os.RemoveAll(path); err != nil {
				o.Fatal(err)
			}
		}
	}
	for name, text := range files {
		path := filepath.Join(o.dir, name)
		if text == "" {
			continue
		}
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			o.Fatal(err)
		}
	}
	o.git("add", "--all")
	o.git("commit", "--quiet", "--allow-empty", "--message=x")
	return o.git("rev-parse", "HEAD")
}

// fixture is a syncer, and what it reports to.
type fixture struct {
	*testing.T
	*Syncer
	opts Options
	log  *bytes.Buffer

	mu       sync.Mutex
	looks    [][]string // what was said to have changed, each time
	problems config.Diagnostics
	results  []Result
}

func newFixture(t *testing.T, g config.Git) *fixture {
	t.Helper()
	h := &fixture{T: t, log: &bytes.Buffer{}}
	if g.Interval == 0 {
		g.Interval = time.Hour
	}
	h.opts = Options{
		Git: g, State: t.TempDir(), Log: slog.New(slog.NewTextHandler(&locked{w: h.log}, &slog.HandlerOptions{Level: slog.LevelDebug})),
		GitHub: config.GitHub{BaseURL: "https://api.github.com"},
		Took: func(_ context.Context, changed []string) (config.Diagnostics, error) {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.looks = append(h.looks, changed)
			return h.problems, nil
		},
		Results: func(context.Context) ([]Result, error) {
			h.mu.Lock()
			defer h.mu.Unlock()
			return slices.Clone(h.results), nil
		},
	}
	h.open()
	return h
}

type locked struct {
	mu sync.Mutex
	w  *bytes.Buffer
}

func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}

// open is what a daemon does when it starts.
func (h *fixture) open() {
	h.Helper()
	s, err := Open(h.Context(), h.opts)
	if err != nil {
		h.Fatal(err)
	}
	h.Cleanup(s.Close)
	h.Syncer = s
}

// ok makes a round that must succeed.
func (h *fixture) ok() {
	h.Helper()
	if err := h.round(h.Context()); err != nil {
		h.Fatalf("%v\n%s", err, h.log)
	}
}

// fails makes a round that must fail with such words.
func (h *fixture) fails(words string) {
	h.Helper()
	err := h.round(h.Context())
	if err == nil || !strings.Contains(err.Error(), words) {
		h.Fatalf("the round ends with %v, want %q", err, words)
	}
}

// holds checks what the tree is: the files with their texts, and no other.
func (h *fixture) holds(want map[string]string) {
	h.Helper()
	root := filepath.Join(h.dir, treeName)
	got := map[string]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, _ := filepath.Rel(root, path)
		if d.Type() == fs.ModeSymlink {
			got[rel], err = os.Readlink(path)
			return err
		}
		text, err := os.ReadFile(path)
		got[rel] = string(text)
		return err
	})
	if err != nil {
		h.Fatal(err)
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		h.Fatalf("the tree holds\n%v\nwant\n%v", got, want)
	}
}

// at checks which commit is said to be in force.
func (h *fixture) at(commit string) {
	h.Helper()
	if got := h.Status().Commit; got != commit {
		h.Fatalf("the commit in force is %s, want %s", got, commit)
	}
}

// shown reports whether the reconciler may look at the tree.
func (h *fixture) shown() bool {
	release, ok := h.Checkout().Hold()
	if ok {
		release()
	}
	return ok
}

// write puts a file into the tree that is not of the repository.
func (h *fixture) write(name, text string) string {
	h.Helper()
	path := filepath.Join(h.dir, treeName, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
		h.Fatal(err)
	}
	return path
}

// result is a result file beside a spec.
func (h *fixture) result(name, text string) {
	h.Helper()
	path := h.write(name, text)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.results = append(h.results, Result{path, path})
}

func until(t *testing.T, what string, met func() bool) {
	t.Helper()
	deadline := time.After(patience)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !met() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("waited %s until %s", patience, what)
		}
	}
}

type texts = map[string]string

func must(out string, err error) string {
	if err != nil {
		panic(err)
	}
	return out
}

func itoa(n int) string { return fmt.Sprint(n) }

func folderSize(t *testing.T, dir string) (size int64) {
	t.Helper()
	err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Mode().IsRegular() {
			size += info.Size()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return size
}
