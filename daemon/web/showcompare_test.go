package web

import (
	"encoding/json"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/gateway/transcript"
	"github.com/assayd/assayd/runtime/trial"
	"github.com/assayd/assayd/runtime/trial/trydir"
)

// versus has two agents on two tasks, of which only the oracle resolves the second one.
const versus = `
benchmark "edge" {
  task "one" {
    image       = "work:1"
    instruction = "do"
    judge { command = "true" }
  }
  task "two" {
    image       = "work:1"
    instruction = "do"
    judge { command = "true" }
  }
}
run "r" {
  tasks     = [benchmark.edge]
  auto_eval = "0s"
  agent "nop" {}
  agent "oracle" {}
}
`

func newVersus(t *testing.T) *fixture {
	t.Helper()
	f := newFixtureOf(t, 4, versus, func(s *trial.State) {
		if s.Cell.Task.Name == "two" && s.Cell.Agent.Name == "nop" {
			s.Result.Status = trial.Unresolved
		}
	})
	f.login(Viewer)
	return f
}

// compared is the address of the page that compares sides.
func compared(names ...string) string {
	q := url.Values{}
	for i, name := range names {
		q.Set(string(rune('a'+i)), name)
	}
	return "/compare?" + q.Encode()
}

// Two sides are a table of tasks, more are a matrix of differences that says what it is not corrected for.
func TestCompareTwoToSixSides(t *testing.T) {
	f := newVersus(t)
	nop, oracle := "run.r.e1/nop", "run.r.e1/oracle"
	for _, tt := range []struct {
		name     string
		sides    []string
		has, not []string
	}{
		{"two agents of a run", []string{nop, oracle}, []string{"oracle in run.r e1 beside nop in run.r e1", "2 tasks are in both", "/compare/steps?a=run.r.e1%2Fnop", "Tasks in both"}, []string{"not corrected", "None of the"}},
		{"three", []string{nop, oracle, "run.r/oracle"}, []string{"3 sides", "None of the 3 is corrected for several comparisons", "Difference of resolved", "row less column", "+0.5", "/compare?a=run.r.e1%2Fnop"}, []string{"Tasks in both"}},
		{"six", []string{nop, oracle, nop, oracle, nop, oracle}, []string{"6 sides", "None of the 15 is corrected"}, nil},
		{"the agents of each name", []string{"run.r", "run.r.e1"}, []string{"nop in run.r e1 beside nop", "oracle in run.r e1 beside oracle"}, nil},
		{"an agent that there is not", []string{nop, "run.r/none"}, []string{"by the name none", "nop, oracle", `value="run.r.e1/nop"`}, []string{"Difference"}},
		{"a run that there is not", []string{nop, "run.none"}, []string{"run.none"}, []string{"Difference"}},
		{"one", []string{nop}, []string{`value="run.r.e1/nop"`}, []string{"Difference", "warning"}},
	} {
		a, text := f.do("GET", compared(tt.sides...), nil)
		if a.StatusCode != 200 {
			t.Errorf("%s: %d", tt.name, a.StatusCode)
		}
		for _, want := range tt.has {
			if !strings.Contains(strings.ReplaceAll(text, "&#43;", "+"), want) {
				t.Errorf("%s: the page has no %q: %s", tt.name, want, text)
			}
		}
		for _, not := range tt.not {
			if strings.Contains(text, not) {
				t.Errorf("%s: the page has %q", tt.name, not)
			}
		}
	}
	if _, text := f.do("GET", "/runs/r", nil); !strings.Contains(text, "/compare?a=run.r.e1%2Fnop&amp;b=run.r.e1%2Foracle") {
		t.Error("the page of a run does not lead to its agents beside each other")
	}
}

// One click leads from a task in a comparison to what both sides' agents did at it.
func TestStepsOfBothSides(t *testing.T) {
	f := newVersus(t)
	for _, agent := range []string{"nop", "oracle"} {
		f.said("two", agent, agent+" thinks of two")
	}
	_, text := f.do("GET", compared("run.r.e1/nop", "run.r.e1/oracle"), nil)
	_, link, _ := strings.Cut(text, `<td>edge.two</td>`)
	_, link, _ = strings.Cut(link, `href="`)
	link, _, _ = strings.Cut(link, `"`)
	a, text := f.do("GET", strings.ReplaceAll(link, "&amp;", "&"), nil)
	for _, want := range []string{"nop thinks of two", "oracle thinks of two", "Steps at edge.two", `id="a-step-1"`, `id="b-step-1"`, "unresolved", "resolved"} {
		if a.StatusCode != 200 || !strings.Contains(text, want) {
			t.Errorf("%s: %d, without %q: %s", link, a.StatusCode, want, text)
		}
	}
	for at, want := range map[string]int{
		"/compare/steps?a=run.r/nop&b=run.r/oracle&task=edge.one":                        200, // that asked no model
		"/compare/steps?a=run.r/nop&b=run.r/oracle&task=edge.two&from_a=7&trial_b=9":     200,
		"/compare/steps?a=run.r/nop&b=run.r/oracle&task=edge.three":                      404,
		"/compare/steps?a=run.r/nop&b=run.r/oracle":                                      400,
		"/compare/steps?a=run.r/nop&task=edge.one":                                       400,
		"/compare/steps?a=run.r/nop&b=run.r/oracle&task=edge.two&from_a=" + "everything": 400,
	} {
		if a, text := f.do("GET", at, nil); a.StatusCode != want {
			t.Errorf("%s: %d, want %d: %s", at, a.StatusCode, want, text)
		}
	}
}

// said writes a transcript of the trial of an agent at a task, in which a model says a text.
func (f *fixture) said(task, agent, text string) {
	f.Helper()
	var id string
	f.check(f.store.View(f.Context(), func(tx *store.Tx) error {
		return tx.EachCellShort("run.r", 1, func(c store.CellShort) error {
			if c.Task == task && c.Agent == agent {
				id = c.Trial
			}
			return nil
		})
	}))
	path := trydir.Of(f.store.Dir(), id, 1).Transcript()
	f.check(os.MkdirAll(filepath.Dir(path), 0o700))
	w, err := transcript.Create(path, 1<<20)
	f.check(err)
	at := time.Now()
	fields := map[string]json.RawMessage{"model": json.RawMessage(`"m"`), "messages": json.RawMessage(`[{"role":"user","content":"do it"}]`)}
	n, err := w.Begin(at, transcript.Completions, "m", false, fields)
	f.check(errors.Join(err, w.End(at, n, transcript.Response{Status: 200, Reply: &transcript.Reply{Text: text}}), w.Close()))
}
