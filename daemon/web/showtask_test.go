package web

import (
	"fmt"
	"html"
	"net/url"
	"strings"
	"testing"

	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/trial"
)

// hiding has a task with hidden files.
const hiding = `
benchmark "edge" {
  description = "corner cases"
  task "one" {
    title       = "The first one"
    image       = "work:1"
    instruction = "Make the crane turn."
    judge {
      command  = "pytest -q tests"
      parser   = "pytest"
      feedback = "names"
      files    = { "tests/test_secret_crane.py" = "assert SECRET_CONTENT" }
    }
  }
  task "two" {
    image       = "work:1"
    instruction = "do"
    judge { command = "true" }
  }
}
run "r" {
  tasks     = [benchmark.edge["one"]]
  auto_eval = "0s"
  attempts  = %d
  agent "nop" {}
}
`

func newHiding(t *testing.T, attempts int) *fixture {
	t.Helper()
	f := newFixtureOf(t, attempts, fmt.Sprintf(hiding, attempts), func(s *trial.State) {
		s.WorkImage, s.JudgeImage = trial.ImageRef{Ref: "work:1", ID: "sha256:0a0a"}, trial.ImageRef{Ref: "judge:1", ID: "sha256:0b0b"}
	})
	f.check(f.store.Do(t.Context(), func(tx *store.Tx) error {
		_, err := tx.AppendLine(store.StreamRef{Spec: "benchmark.edge", Root: "/w", Path: "/w/a.benchmark.edge.jsonl"}, store.Envelope{Type: "task.validated"}, map[string]any{
			"task": "one", "verdict": "flagged", "oracle": true, "nop": true, "stable": true, "repeat": 3,
			"findings": []map[string]string{{"check": "instruction", "severity": "warns", "text": "it names tests/test_secret_crane.py"}},
		})
		return err
	}))
	return f
}

// The page of a task has what there is to know of it, by name only where it is hidden, and the results of all runs, a page at a time.
func TestThePageOfATask(t *testing.T) {
	f := newHiding(t, 150)
	f.login(Operator)
	a, text := f.do("GET", "/benchmarks/edge/tasks/one", nil)
	if a.StatusCode != 200 {
		t.Fatalf("%d %s", a.StatusCode, text)
	}
	for _, want := range []string{
		"The first one", "Make the crane turn.", "work:1", "sha256:0a0a", "judge:1", "sha256:0b0b", "pytest -q tests", "shared: submitted code", "names",
		"tests/test_secret_crane.py", "1 by name", "flagged", "the solution passes", "it names tests/", ">r e1</a>", "Next page",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page has no %q", want)
		}
	}
	if strings.Contains(text, "SECRET_CONTENT") {
		t.Error("it has the content of a hidden file")
	}
	if n := strings.Count(text, `<td><a href="/trials/`); n != runsOnPage {
		t.Errorf("it has %d results", n)
	}
	_, rest, _ := strings.Cut(text, `rel="next"`)
	_, next, _ := strings.Cut(text[:len(text)-len(rest)], `Pages of results"><a href="`)
	next, _, _ = strings.Cut(next, `"`)
	if _, text = f.do("GET", strings.TrimSuffix(html.UnescapeString(next), "#results"), nil); strings.Count(text, `<td><a href="/trials/`) != 50 {
		t.Errorf("the second page, %s, has %d results", next, strings.Count(text, `<td><a href="/trials/`))
	}
	for path, want := range map[string]string{
		"/benchmarks/edge": "/benchmarks/edge/tasks/two", "/tasks": "/benchmarks/edge/tasks/one", "/runs/r": "/benchmarks/edge/tasks/one",
		"/benchmarks/edge/tasks/two": "No run has tried it",
	} {
		if _, text := f.do("GET", path, nil); !strings.Contains(text, want) {
			t.Errorf("%s does not have %s", path, want)
		}
	}
	for _, path := range []string{"/benchmarks/none", "/benchmarks/edge/tasks/three", "/mining/none/tasks"} {
		if a, _ := f.do("GET", path, nil); a.StatusCode != 404 {
			t.Errorf("%s: %d", path, a.StatusCode)
		}
	}
}

func TestGoLeadsToTasks(t *testing.T) {
	f := newHiding(t, 1)
	f.login(Viewer)
	for name, want := range map[string]string{
		"benchmark.edge": "/benchmarks/edge", "edge": "/benchmarks/edge", `benchmark.edge["one"]`: "/benchmarks/edge/tasks/one", "benchmark.edge.one": "/benchmarks/edge/tasks/one",
		"edge.two": "/benchmarks/edge/tasks/two", "edge/two": "/benchmarks/edge/tasks/two", "r": "/runs/r",
	} {
		if a, _ := f.do("GET", "/go?"+url.Values{"to": {name}}.Encode(), nil); a.Header.Get("Location") != want {
			t.Errorf("%s leads to %q, want %s", name, a.Header.Get("Location"), want)
		}
	}
	if a, _ := f.do("GET", "/go?to=edge.three", nil); a.StatusCode != 404 {
		t.Errorf("a task that there is not: %d", a.StatusCode)
	}
}
