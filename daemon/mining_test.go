//go:build linux

package daemon_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/assayd/assayd/reconcile/query"
	"github.com/assayd/assayd/runtime/gateway/modeltest"
	"github.com/assayd/assayd/runtime/mining/archive"
	"github.com/assayd/assayd/runtime/mining/github"
	"github.com/assayd/assayd/runtime/mining/github/githubtest"
)

// fakeForge is what a world's daemon mines: an archive, a GitHub, a forge with the repositories,
// and a model that knows what to answer about each pull request.
type fakeForge struct {
	*fixture
	forge   string // folder of bare repositories, owner/name
	github  *githubtest.Server
	model   *modeltest.Server
	archive *httptest.Server
	hour    time.Time
	hours   [][]byte // gzip files of those before it, if the archive has more
	pulls   []*planted
}

// planted is a merged pull request with a repository of its own.
type planted struct {
	name        string // of the repository, of the organisation acme
	before      map[string]string
	after       map[string]string // what the merge changes; "" = the file is gone
	title, body string
	change      func(*github.Pull)             // what else GitHub says of it
	onTop       func(q *fakeForge, dir string) // what is done in the work tree before the merge is committed

	// What the model says; "" = what suits most.
	statement, section, class, test string
	install                         []string
	files                           map[string]string // tests that it writes
	beside                          map[string]string // those that it writes when those of the pull request are too few
	quality                         float64
	hold                            func(ctx context.Context, event int) // before each answer

	want string // "" = a task, else the stage and the reason
	pull github.Pull
	at   github.Ref // where it is, if it has no repository of its own
}

// number is that of every planted pull request.
const number = 7

func (p *planted) ref() github.Ref {
	if p.at != (github.Ref{}) {
		return p.at
	}
	return github.Ref{Repo: "acme/" + p.name, Number: number}
}

// task is the name of the task that it makes.
func (p *planted) task() string {
	return strings.ReplaceAll(fmt.Sprintf("%s-%d", p.ref().Repo, p.ref().Number), "/", "-")
}

// git runs the host's Git in a folder.
func (q *fakeForge) git(dir string, args ...string) string {
	q.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=T", "-c", "user.email=t@example.com", "-c", "init.defaultBranch=main", "-c", "core.autocrlf=false"}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null",
		"GIT_AUTHOR_DATE=2026-01-02T03:04:05Z", "GIT_COMMITTER_DATE=2026-01-02T03:04:05Z")
	out, err := cmd.CombinedOutput()
	if err != nil {
		q.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (q *fakeForge) lay(dir string, files map[string]string) {
	q.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if text == "" {
			if err := os.Remove(path); err != nil {
				q.Fatal(err)
			}
			continue
		}
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			q.Fatal(err)
		}
	}
}

// plant makes the repository of a pull request, and what GitHub says of it.
func (q *fakeForge) plant(p *planted) {
	q.Helper()
	dir := filepath.Join(q.TempDir(), p.name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		q.Fatal(err)
	}
	q.git(dir, "init", "-q")
	q.lay(dir, p.before)
	q.git(dir, "add", "-A")
	q.git(dir, "commit", "-q", "-m", "before")
	base := q.git(dir, "rev-parse", "HEAD")
	q.lay(dir, p.after)
	if p.onTop != nil {
		p.onTop(q, dir)
	}
	q.git(dir, "add", "-A")
	q.git(dir, "commit", "-q", "-m", p.title)
	merge := q.git(dir, "rev-parse", "HEAD")
	bare := filepath.Join(q.forge, "acme", p.name)
	q.git(q.forge, "clone", "-q", "--bare", dir, bare)
	q.git(bare, "config", "uploadpack.allowFilter", "true")
	q.git(bare, "config", "uploadpack.allowAnySHA1InWant", "true")
	p.pull = github.Pull{
		Ref: p.ref(), Title: p.title, Body: p.body, Author: "ada", AuthorType: "User", Merged: true, MergedBy: "grace",
		BaseRef: "main", HeadRef: "topic", BaseSHA: base, HeadSHA: merge, MergeSHA: merge, Parents: strings.Fields(q.git(dir, "rev-parse", merge+"^@")),
		MergedAt: q.hour.Add(time.Minute), Commits: 1, Files: q.changed(dir, base, merge),
		Repository: github.Repository{
			Name: "acme/" + p.name, OwnerType: "Organization", Language: "Python", Languages: map[string]int64{"Python": 1000},
			Stars: 100, License: "MIT", DefaultBranch: "main", KiB: 10,
		},
	}
	for _, f := range p.pull.Files {
		p.pull.Added, p.pull.Removed = p.pull.Added+f.Added, p.pull.Removed+f.Removed
	}
	p.pull.ChangedFiles = len(p.pull.Files)
	if p.change != nil {
		p.change(&p.pull)
	}
	q.pulls = append(q.pulls, p)
}

// changed lists the files between two commits as GitHub does.
func (q *fakeForge) changed(dir, base, merge string) (files []github.File) {
	q.Helper()
	status := map[string]string{"A": "added", "M": "modified", "D": "removed", "T": "changed"}
	kinds := map[string]string{}
	for line := range strings.Lines(q.git(dir, "diff", "--no-renames", "--name-status", base, merge)) {
		kind, name, _ := strings.Cut(strings.TrimSpace(line), "\t")
		kinds[name] = status[kind]
	}
	for line := range strings.Lines(q.git(dir, "diff", "--no-renames", "--numstat", base, merge)) {
		parts := strings.SplitN(strings.TrimSpace(line), "\t", 3)
		f := github.File{Name: parts[2], Status: kinds[parts[2]]}
		_, _ = fmt.Sscan(parts[0], &f.Added) // a binary file has none
		_, _ = fmt.Sscan(parts[1], &f.Removed)
		files = append(files, f)
	}
	return files
}

// newFakeForge makes a world whose daemon mines these pull requests.
func newFakeForge(t *testing.T, pulls ...*planted) *fakeForge {
	t.Helper()
	q := &fakeForge{fixture: newFixture(t), forge: t.TempDir(), hour: time.Now().UTC().Add(-3 * time.Hour).Truncate(time.Hour)}
	for _, p := range pulls {
		q.plant(p)
	}
	q.begin()
	return q
}

// begin starts what the daemon mines from.
func (q *fakeForge) begin() {
	q.Helper()
	world := githubtest.World{}
	for _, p := range q.pulls {
		world.Pulls = append(world.Pulls, p.pull)
	}
	q.github = githubtest.New(q.T, world)
	q.archive = httptest.NewServer(http.HandlerFunc(q.serveHour))
	q.Cleanup(q.archive.Close)
	q.model = q.knows(q.think)
	q.configured(fmt.Sprintf("github {\n  base_url = %q\n  tokens   = [\"t\"]\n}\nbuild {\n  mirrors = { git = %q }\n}\n", q.github.API, "file://"+q.forge))
}

// serveHour is the archive: it has an hour with the merge events of all pull requests.
func (q *fakeForge) serveHour(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/"+archive.Name(q.hour) {
		for i, text := range q.hours {
			if r.URL.Path == "/"+archive.Name(q.hour.Add(-time.Duration(i+1)*time.Hour)) {
				_, _ = w.Write(text)
				return
			}
		}
		http.NotFound(w, r)
		return
	}
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	for i, p := range q.pulls {
		event := map[string]any{
			"id": fmt.Sprint(1000 + i), "type": "PullRequestEvent", "created_at": q.hour.Add(time.Duration(i) * time.Second),
			"actor": map[string]any{"login": "grace"}, "repo": map[string]any{"name": p.ref().Repo}, "org": map[string]any{"login": "acme"},
			"payload": map[string]any{"action": "merged", "number": p.ref().Number, "pull_request": map[string]any{
				"number": p.ref().Number, "head": map[string]any{"ref": p.pull.HeadRef, "sha": p.pull.HeadSHA},
				"base": map[string]any{"ref": "main", "sha": p.pull.BaseSHA},
			}},
		}
		line, err := json.Marshal(event)
		if err != nil {
			q.Error(err)
		}
		_, _ = z.Write(append(line, '\n'))
	}
	_ = z.Close()
	_, _ = w.Write(b.Bytes())
}

// scripted usage of each answer.
var perAnswer = modeltest.Usage{Input: 100, Output: 10}

// think is the model. It finds out which pull request it is asked about by its title.
func (q *fakeForge) think(r modeltest.Request) modeltest.Answer {
	var text strings.Builder
	for _, turn := range r.Turns {
		text.WriteString(turn.Text)
	}
	i := slices.IndexFunc(q.pulls, func(p *planted) bool { return strings.Contains(text.String(), p.title) })
	if i < 0 {
		return modeltest.Answer{Status: http.StatusBadRequest, Message: "about which pull request?"}
	}
	p := q.pulls[i]
	call := func(name string, arguments map[string]any) modeltest.Answer {
		return modeltest.Answer{Calls: []modeltest.Call{{Name: name, Arguments: arguments}}, Usage: perAnswer, Hold: p.hold}
	}
	scores := map[string]float64{"easy": 0.2, "medium": 0.5, "hard": 0.8}
	class := or(p.class, "medium")
	quality := p.quality
	if quality == 0 {
		quality = 0.9
	}
	switch offered := func(name string) bool { return slices.Contains(r.Tools, name) }; {
	case offered("rate_difficulty"):
		return call("rate_difficulty", map[string]any{"difficulty": class, "reasoning": "as scripted"})
	case offered("write_statement"):
		return call("write_statement", map[string]any{"statement": or(p.statement, "In words: "+p.title+". "+p.body)})
	case offered("describe_interface"):
		return call("describe_interface", map[string]any{"section": or(p.section, "Nothing to name.")})
	case offered("classify"):
		return call("classify", map[string]any{"class": class, "score": scores[class], "reasoning": "as scripted"})
	case offered("rate_quality"):
		return call("rate_quality", map[string]any{"score": quality, "reasoning": "as scripted"})
	}
	return q.work(r, p, call)
}

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// work is what the model does in the workbench: it looks around, writes tests if there are any
// to be written, and submits.
func (q *fakeForge) work(r modeltest.Request, p *planted, call func(string, map[string]any) modeltest.Answer) modeltest.Answer {
	steps := []modeltest.Answer{call("shell", map[string]any{"command": "ls && git log --oneline | head -3"})}
	names, files := []string{}, p.files
	if slices.ContainsFunc(r.Turns, func(turn modeltest.Turn) bool { return strings.Contains(turn.Text, "This environment runs its tests") }) {
		files = p.beside
	}
	for name, text := range files {
		steps = append(steps, call("write_file", map[string]any{"path": name, "content": text}))
		names = append(names, name)
	}
	install := p.install
	if install == nil {
		install = []string{}
	}
	submit := map[string]any{"install": install, "test_command": or(p.test, "python3 -m pytest -v -p no:cacheprovider")}
	if len(names) > 0 {
		slices.Sort(names)
		submit["files"] = names
	}
	if at := r.Results(); at < len(steps) {
		return steps[at]
	} else if at > len(steps) { // what was submitted was not good enough
		return call("submit_tests", map[string]any{"install": []string{}, "test_command": "", "impossible": "the script has nothing else"})
	}
	return call("submit_tests", submit)
}

// spec is a mining spec with these lines.
func (q *fakeForge) spec(lines ...string) string {
	return fmt.Sprintf(`
mining %q {
  source "gharchive" {
    lookback = "6h"
    base_url = %q
  }
  provider = "openai"
  model    = "scripted"
  test_generation { image = %q }
  output { dir = "mined" }
  %s
}
`, q.bench, q.archive.URL, q.image, strings.Join(lines, "\n  "))
}

func (q *fakeForge) address() string { return "mining." + q.bench }

// mined waits until the spec is over.
func (q *fakeForge) mined(within time.Duration) (m query.MiningStatus) {
	q.Helper()
	q.untilWithin(within, q.address()+" is over", func() error {
		s, err := q.client.Status(q.Context(), q.address())
		if err != nil {
			return err
		}
		if m = s.Minings[0]; m.State != "finished" {
			return fmt.Errorf("it is %s: %s, %+v", m.State, m.Note, m.Progress.Stages)
		}
		return nil
	})
	return m
}

// good is a pull request that makes a task.
func good(name string) *planted {
	return &planted{
		name: name, title: "Count the letters of " + name,
		body:   "Adding an empty text to " + name + " counts one letter too many, since the counter begins at one. It has to begin at zero, so that nothing counts as nothing.",
		before: map[string]string{"count.py": "def letters(text):\n    n = 1\n    for c in text:\n        n += 1\n    return n\n", "README.md": "Counts.\n", "tests/test_old.py": "import count\n\n\ndef test_more_is_more():\n    assert count.letters('ab') > count.letters('a')\n"},
		after: map[string]string{
			"count.py":            "def letters(text):\n    n = 0\n    for c in text:\n        if c.isspace():\n            continue\n        n += 1\n    return n\n",
			"tests/test_count.py": "import count\n\n\ndef test_nothing():\n    assert count.letters('') == 0\n\n\ndef test_words():\n    assert count.letters('a b') == 2\n\n\ndef test_kind():\n    assert isinstance(count.letters('x'), int)\n",
		},
	}
}

// A mining spec makes a task of a merged pull request, and a run over it takes it up: the
// solution solves it, and doing nothing does not.
func TestAPullRequestBecomesATask(t *testing.T) {
	t.Parallel()
	p := good("letters")
	q := newFakeForge(t, p)
	q.write("m.hcl", q.spec()+fmt.Sprintf(`
run "over" {
  tasks   = [mining.%s]
  mode    = "single"
  timeout = "2m"
  agent "oracle" {}
  agent "nop" {}
}
`, q.bench))
	q.serve()
	m := q.mined(4 * time.Minute)
	if p := m.Progress; p.Accepted != 1 || !slices.Equal(m.Tasks, []string{"acme-letters-7"}) {
		t.Fatalf("mined %v: %+v", m.Tasks, p)
	}
	q.isProvedIn("acme-letters-7")
	q.solvedAsTheirs(p, filepath.Join(q.specs, "mined", "acme-letters-7"))
	run := q.settled("run.over", 12*time.Minute)
	for _, x := range run.Trials {
		want := map[string]string{"oracle": "resolved", "nop": "unresolved"}[x.Agent]
		if string(x.Status) != want {
			t.Errorf("%s is %s (%s %s), not %s", x.Agent, x.Status, x.Reason, x.Detail, want)
		}
	}
	if len(run.Trials) != 2 {
		t.Errorf("there are %d trials", len(run.Trials))
	}
	told := q.model.Usage()
	if u := m.Progress.Usage; u.InputTokens != int64(told.Prompt()) || u.OutputTokens != int64(told.Output) {
		t.Errorf("counted %+v, told %+v", u, told)
	}
}

// isProvedIn fails unless the provenance of a task has the image of its environment and what that
// is made from, as the engine has them, and what the proof has shown.
func (q *fakeForge) isProvedIn(name string) {
	q.Helper()
	text, err := os.ReadFile(filepath.Join(q.specs, "mined", name, "provenance.json"))
	if err != nil {
		q.Fatal(err)
	}
	var has struct {
		Image      string `json:"image"`
		Digest     string `json:"image_digest"`
		Base       string `json:"base_image"`
		BaseDigest string `json:"base_image_digest"`
		Hunks      int    `json:"hunks"`
		Covered    int    `json:"covered_hunks"`
		Flaky      struct {
			Count int
			Names []string
		} `json:"flaky_tests"`
	}
	if err := json.Unmarshal(text, &has); err != nil {
		q.Fatal(err)
	}
	if has.Base != q.image || has.Image == has.Base || has.Digest == has.BaseDigest {
		q.Errorf("the environment and its base are not told apart: %s", text)
	}
	for ref, id := range map[string]string{has.Image: has.Digest, has.Base: has.BaseDigest} {
		if img, err := q.engine.Image(q.Context(), ref); err != nil || img.ID != id {
			q.Errorf("%s is %s, %v; told is %s", ref, img.ID, err, id)
		}
	}
	if has.Hunks != 1 || has.Covered != 1 || has.Flaky.Count != 0 || has.Flaky.Names == nil {
		q.Errorf("the proof is not told: %s", text)
	}
}
