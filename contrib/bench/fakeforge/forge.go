package fakeforge

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"

	"github.com/assayd/assayd/runtime/gateway/modeltest"
	"github.com/assayd/assayd/runtime/mining/archive"
	"github.com/assayd/assayd/runtime/mining/github"
	"github.com/assayd/assayd/runtime/mining/github/githubtest"
)

// Pull requests that are mined, one after the other, and how long the tests of each take.
const (
	Pulls       = 3
	TestSeconds = 5
)

// Forge is what the daemon mines from.
type Forge struct {
	forge   string // folder of bare repositories, owner/name
	hour    time.Time
	pulls   []github.Pull
	archive *httptest.Server
	github  *httptest.Server
	model   *modeltest.Server
}

// New plants the repositories below a folder and starts the servers.
func New(ctx context.Context, dir string) (*Forge, error) {
	q := &Forge{forge: filepath.Join(dir, "forge"), hour: time.Now().UTC().Add(-3 * time.Hour).Truncate(time.Hour)}
	for n := range Pulls {
		p, err := q.plant(ctx, fmt.Sprintf("letters%d", n))
		if err != nil {
			return nil, err
		}
		q.pulls = append(q.pulls, p)
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	q.model = modeltest.Start(listener, think)
	q.archive = httptest.NewServer(http.HandlerFunc(q.serveHour))
	q.github = httptest.NewServer(githubtest.Offline(githubtest.World{Pulls: q.pulls}))
	return q, nil
}

// Close ends the servers.
func (q *Forge) Close() {
	q.model.Close()
	q.archive.Close()
	q.github.Close()
}

// What a repository holds before and after the merge.
const (
	lettersBefore = "def letters(text):\n    n = 1\n    for c in text:\n        n += 1\n    return n\n"
	lettersAfter  = "def letters(text):\n    n = 0\n    for c in text:\n        if c.isspace():\n            continue\n        n += 1\n    return n\n"
	testBefore    = "import time\n\nimport count\n\n\ndef test_more_is_more():\n    time.sleep(%d)\n    assert count.letters('ab') > count.letters('a')\n"
	testAfter     = "import count\n\n\ndef test_nothing():\n    assert count.letters('') == 0\n\n\ndef test_words():\n    assert count.letters('a b') == 2\n"
)

// What people and the model say about it.
const (
	pullTitle = "Count what is there"
	pullBody  = "An empty text has one letter too many, since the counter begins at one. It has to begin at zero, so that nothing counts as nothing, and blanks are no letters."
	asTask    = "Letters are counted wrong. For an empty text there has to be no letter at all, and blanks between words are not to be counted as letters."
)

// plant makes a repository with one merge, and what GitHub says of it.
func (q *Forge) plant(ctx context.Context, name string) (p github.Pull, err error) {
	dir := filepath.Join(q.forge, "work", name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return p, err
	}
	script := `set -e
git init -q --initial-branch=main .
git config user.name bench; git config user.email bench@example.com
mkdir tests
printf %s "$2" > count.py; printf %s "$4" > tests/test_old.py; echo "$1 counts letters." > README.md
git add .; git commit -qm before; git rev-parse HEAD
printf %s "$3" > count.py; printf %s "$5" > tests/test_count.py
git add .; git commit -qm after; git rev-parse HEAD
git clone -q --bare . "../../acme/$1"
git -C "../../acme/$1" config uploadpack.allowFilter true
git -C "../../acme/$1" config uploadpack.allowAnySHA1InWant true
`
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", script, "sh", name, lettersBefore, lettersAfter, fmt.Sprintf(testBefore, TestSeconds), testAfter)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	out, err := cmd.Output()
	commits := strings.Fields(string(out))
	if err == nil && len(commits) != 2 {
		err = fmt.Errorf("it has the commits %q", commits)
	}
	if err != nil {
		return p, fmt.Errorf("make a repository with a merge: %w", err)
	}
	files := []github.File{
		{Name: "count.py", Status: "modified", Added: 3, Removed: 1},
		{Name: "tests/test_count.py", Status: "added", Added: strings.Count(testAfter, "\n")},
	}
	return github.Pull{
		Ref: github.Ref{Repo: "acme/" + name, Number: 7}, Title: pullTitle, Body: pullBody, Author: "ada", AuthorType: "User",
		Merged: true, MergedBy: "grace", MergedAt: q.hour.Add(time.Minute), BaseRef: "main", HeadRef: "topic",
		BaseSHA: commits[0], HeadSHA: commits[1], MergeSHA: commits[1], Parents: commits[:1], Commits: 1,
		Files: files, ChangedFiles: len(files), Added: files[0].Added + files[1].Added, Removed: files[0].Removed,
		Repository: github.Repository{
			Name: "acme/" + name, OwnerType: "Organization", Language: "Python", Languages: map[string]int64{"Python": 1000},
			Stars: 100, License: "MIT", DefaultBranch: "main", KiB: 10,
		},
	}, nil
}

// serveHour is the archive: it has one hour with the merges.
func (q *Forge) serveHour(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/"+archive.Name(q.hour) {
		http.NotFound(w, r)
		return
	}
	z := gzip.NewWriter(w)
	lines := json.NewEncoder(z)
	for i, p := range q.pulls {
		_ = lines.Encode(map[string]any{ // whoever reads it tells of what is missing
			"id": fmt.Sprint(1000 + i), "type": "PullRequestEvent", "created_at": q.hour.Add(time.Minute),
			"actor": map[string]any{"login": p.MergedBy}, "repo": map[string]any{"name": p.Repo}, "org": map[string]any{"login": "acme"},
			"payload": map[string]any{"action": "merged", "number": p.Number, "pull_request": map[string]any{
				"number": p.Number, "head": map[string]any{"ref": p.HeadRef, "sha": p.HeadSHA}, "base": map[string]any{"ref": p.BaseRef, "sha": p.BaseSHA},
			}},
		})
	}
	_ = z.Close()
}

// think is the model. At the workbench it runs the tests, then it says how.
func think(r modeltest.Request) modeltest.Answer {
	const test = "python3 -m pytest -v -p no:cacheprovider"
	call := func(name string, arguments map[string]any) modeltest.Answer {
		return modeltest.Answer{Calls: []modeltest.Call{{Name: name, Arguments: arguments}}, Usage: modeltest.Usage{Input: 1000, Output: 100}}
	}
	switch offered := func(name string) bool { return slices.Contains(r.Tools, name) }; {
	case offered("write_statement"):
		return call("write_statement", map[string]any{"statement": asTask})
	case offered("classify"):
		return call("classify", map[string]any{"class": "medium", "score": 0.5, "reasoning": "as scripted"})
	case offered("rate_quality"):
		return call("rate_quality", map[string]any{"score": 0.9, "reasoning": "as scripted"})
	case r.Results() == 0:
		return call("shell", map[string]any{"command": test})
	case r.Results() == 1:
		return call("submit_tests", map[string]any{"install": []string{}, "test_command": test})
	}
	last := r.Turns[len(r.Turns)-1].Results
	return call("submit_tests", map[string]any{"install": []string{}, "test_command": "", "impossible": fmt.Sprint("it was refused: ", last)})
}

// Settings are the daemon's.
func (q *Forge) Settings() string {
	return fmt.Sprintf(`
github {
  base_url = %q
  tokens   = ["t"]
}
build {
  mirrors = { git = %q }
}
provider "scripted" {
  protocol = "openai"
  base_url = %q
  api_key  = "sk-of-nobody"
  prices   = { "*" = { input = 3, output = 15 } }
}
`, q.github.URL, "file://"+q.forge, q.model.URL+"/v1")
}

// Spec is a file that mines all pull requests.
func (q *Forge) Spec(name, image string) string {
	return fmt.Sprintf(`
mining %q {
  source "gharchive" {
    from     = %q
    to       = %q
    base_url = %q
  }
  provider  = "scripted"
  model     = "m"
  max_tasks = 0
  concurrency {
    deep = 1
  }
  test_generation {
    image = %q
  }
  output {
    dir = "tasks"
  }
}
`, name, q.hour.Format(time.RFC3339), q.hour.Add(time.Hour).Format(time.RFC3339), q.archive.URL, image)
}
