package proof

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/assayd/assayd/runtime/git"
	"github.com/assayd/assayd/runtime/judge/parser"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/patch"
	"github.com/assayd/assayd/runtime/task"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// files are those of a small repository, by name.
type files map[string]string

// does reports whether a file has a line of code, however it is spaced, and not as a comment.
func (f files) does(name, line string) bool {
	want := strings.Join(strings.Fields(line), " ")
	quoted := false
	for text := range strings.Lines(f[name]) {
		if strings.Contains(text, "'''") {
			quoted = !quoted
			continue
		}
		if !quoted && strings.Join(strings.Fields(text), " ") == want {
			return true
		}
	}
	return false
}

// fixture is a repository whose tests are functions. A test that returns "" is not there.
type fixture struct {
	base  files
	tests map[string]func(f files) parser.Status
	broke func(f files) string                             // the name under which a build fails, "" = it does not
	twist func(r *round.Report, f files, of string, n int) // changes the nth report of a patch

	mu     sync.Mutex
	counts map[string]int
	trees  map[string]files
	atOnce int
	most   int
	runs   int
}

// run is a Run in the world.
func (w *fixture) run(t *testing.T) Run {
	return func(ctx context.Context, of task.Task, diff []byte) (round.Report, error) {
		n, done := w.enter(string(diff))
		defer done()
		tree := maps.Clone(w.base)
		if len(diff) > 0 {
			var err error
			if tree, err = w.applied(t, diff); err != nil {
				return round.Report{}, err
			}
		}
		r := w.report(of, tree)
		if w.twist != nil {
			w.twist(&r, tree, string(diff), n)
		}
		if r.Problem == "the world ends" {
			return r, errors.New(r.Problem)
		}
		return r, nil
	}
}

// applied is the base with a patch, which Git applies once.
func (w *fixture) applied(t *testing.T, diff []byte) (files, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if tree := w.trees[string(diff)]; tree != nil {
		return tree, nil
	}
	tree, err := applied(t, w.base, diff)
	if w.trees == nil {
		w.trees = map[string]files{}
	}
	w.trees[string(diff)] = tree
	return tree, err
}

func (w *fixture) enter(diff string) (n int, done func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.counts == nil {
		w.counts = map[string]int{}
	}
	w.counts[diff]++
	w.runs++
	w.atOnce++
	w.most = max(w.most, w.atOnce)
	return w.counts[diff], func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.atOnce--
	}
}

func (w *fixture) report(of task.Task, tree files) round.Report {
	r := round.Report{Status: round.StatusOK, Valid: true, JudgeMS: 1500}
	broken := ""
	if w.broke != nil {
		broken = w.broke(tree)
	}
	if broken != "" {
		r.Tests = append(r.Tests, parser.Test{Name: broken, Status: parser.Errored, Message: "cannot import name 'plus' from 'calc'"})
		r.Status, r.Valid, r.Problem = round.StatusInvalid, false, "the run did not come to its end"
	}
	for _, name := range slices.Sorted(maps.Keys(w.tests)) {
		if broken != "" && strings.HasPrefix(name, broken) {
			continue
		}
		if status := w.tests[name](tree); status != "" {
			r.Tests = append(r.Tests, parser.Test{Name: name, Status: status})
		}
	}
	declared := slices.Concat(of.FailToPass, of.PassToPass)
	wanted := 0
	for _, t := range r.Tests {
		if len(declared) > 0 && !slices.Contains(declared, t.Name) {
			continue
		}
		if t.Status == parser.Passed {
			r.Passed++
		}
		wanted++
	}
	if wanted = max(wanted, len(declared)); wanted > 0 {
		r.PassRate = float64(r.Passed) / float64(wanted)
	}
	return r
}

// applied is a tree with a patch that Git applies.
func applied(t *testing.T, tree files, diff []byte) (files, error) {
	t.Helper()
	home, dir := t.TempDir(), t.TempDir()
	for name, text := range tree {
		at := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.WriteFile(at, []byte(text), 0o644)); err != nil {
			return nil, err
		}
	}
	g, err := git.New(home, "")
	if err != nil {
		return nil, err
	}
	if _, err := g.In(dir).With("GIT_CEILING_DIRECTORIES="+filepath.Dir(dir)).Feed(t.Context(), bytes.NewReader(diff), "apply", "--whitespace=nowarn", "-"); err != nil {
		if failed, ok := errors.AsType[*git.Error](err); ok {
			return nil, &patch.NotApplied{Words: failed.Text}
		}
		return nil, err
	}
	out := files{}
	err = filepath.WalkDir(dir, func(at string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := os.ReadFile(at)
		name, _ := filepath.Rel(dir, at)
		out[name] = string(text)
		return err
	})
	return out, err
}

// difference is what leads from one tree to another, as Git has it.
func difference(t *testing.T, before, after files) []byte {
	t.Helper()
	dir := t.TempDir()
	g, err := git.New(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	run := func(in string, args ...string) string {
		out, err := g.In(dir).Feed(t.Context(), strings.NewReader(in), args...)
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(out)
	}
	run("", "init", "-q")
	var trees []string
	for _, tree := range []files{before, after} {
		run("", "read-tree", "--empty")
		for _, name := range slices.Sorted(maps.Keys(tree)) {
			run("", "update-index", "--add", "--cacheinfo", "100644,"+run(tree[name], "hash-object", "-w", "--no-filters", "--stdin")+","+name)
		}
		trees = append(trees, run("", "write-tree"))
	}
	var out bytes.Buffer
	if err := g.In(dir).Pipe(t.Context(), nil, &out, "diff-tree", "-p", "--binary", "--full-index", "-M", trees[0], trees[1]); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// when passes while a condition holds.
func when(yes func(f files) bool) func(f files) parser.Status {
	return func(f files) parser.Status {
		if yes(f) {
			return parser.Passed
		}
		return parser.Failed
	}
}

// always has one outcome.
func always(status parser.Status) func(files) parser.Status {
	return func(files) parser.Status { return status }
}

// edited is a tree with a text in place of another one.
func (f files) edited(t *testing.T, name string, pairs ...string) files {
	t.Helper()
	out := maps.Clone(f)
	for i := 0; i < len(pairs); i += 2 {
		if !strings.Contains(out[name], pairs[i]) {
			t.Fatalf("%s has no %q", name, pairs[i])
		}
		out[name] = strings.Replace(out[name], pairs[i], pairs[i+1], 1)
	}
	return out
}
