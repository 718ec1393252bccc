package web

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/daemon/api"
	"github.com/assayd/assayd/daemon/api/apitest"
	"github.com/assayd/assayd/reconcile"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/judge/parser"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/trial"
	"github.com/assayd/assayd/runtime/trial/trydir"
)

// canarySpec has a task whose instruction, judge and hidden files nobody without content may learn of.
const canarySpec = `
benchmark "edge" {
  task "one" {
    image       = "work:1"
    instruction = "canary-instruction"
    judge {
      command = "run canary-command"
      files   = { "tests/canary-hidden.py" = "canary-file" }
    }
  }
}
run "r" {
  tasks     = [benchmark.edge]
  auto_eval = "0s"
  agent "nop" {}
}
`

// planted are the canaries that an operator finds somewhere.
var planted = []string{
	"instruction", "command", "hidden", "detail", "summary", "problem", "testname", "message", "testdetail", "testoutput", "metric", "output", "log", "step", "record", "diff", "path", "finding", "snippet", "advice", "note", "reason",
}

// newCanaries is a server of pages and the API for a trial in which agents and tests have written canaries.
func newCanaries(t *testing.T) *fixture {
	f := newFixtureOf(t, 1, canarySpec, func(s *trial.State) {
		s.StartedAt, s.Detail, s.Result.Detail = time.Now(), "canary-detail", "canary-detail"
		s.Result.Status, s.Result.Best = trial.Unresolved, &trial.Best{Round: "agent-2"}
	})
	id := f.trials()[0]
	f.said("one", "nop", "canary-step")
	log := trydir.Of(f.store.Dir(), id, 1).Log()
	f.check(os.WriteFile(log, []byte("canary-log\n"), 0o600))
	output, first, second := f.blob([]byte("canary-output")), f.archive("src/a", "before"), f.archive("src/canary-path", "canary-diff")
	f.check(f.store.Do(t.Context(), func(tx *store.Tx) error {
		tests, err := json.Marshal([]parser.Test{{Name: "canary-testname", Status: parser.Failed, Message: "canary-message", Detail: "canary-testdetail", Output: "canary-testoutput"}})
		if err != nil {
			return err
		}
		for n, archive := range []string{first, second} {
			sub := round.Submission{
				ID: fmt.Sprintf("%016x", n+1), Trial: id, Try: 1, Round: fmt.Sprintf("agent-%d", n+1), Number: n + 1, Kind: round.KindAgent, State: round.StateJudged, AcceptedAt: time.Now(), Archive: archive,
				Report: &round.Report{Status: round.StatusOK, Failed: 1, TotalTests: 1, Summary: "canary-summary", Problem: "canary-problem", Metrics: map[string]float64{"canary-metric": 1}, Output: output, Expected: []string{"canary-testname"}},
			}
			data, err := json.Marshal(sub)
			if err != nil {
				return err
			}
			if _, err := tx.InsertSubmission(store.SubmissionRow{ID: sub.ID, Trial: id, Kind: string(sub.Kind), Number: n + 1, State: string(sub.State), Data: data, Detail: tests}); err != nil {
				return err
			}
		}
		if err := errors.Join(
			tx.PutNote(store.NoteRow{Target: id, Text: "canary-note", By: "anna", Via: "cli", At: time.Now()}),
			tx.AddActivity(store.ActivityRow{Action: "stop", Target: id, By: "anna", Via: "cli", Reason: "canary-reason"}),
		); err != nil {
			return err
		}
		_, err = tx.AppendLine(store.StreamRef{Spec: "run.r", Root: "/w", Path: "/w/a.run.r.jsonl"}, store.Envelope{Type: "trial.event"}, map[string]string{"text": "canary-record"})
		if err != nil {
			return err
		}
		_, err = tx.AppendLine(store.StreamRef{Spec: "benchmark.edge", Root: "/w", Path: "/w/a.benchmark.edge.jsonl"}, store.Envelope{Type: "task.validated"}, map[string]any{
			"task": "one", "verdict": "broken", "findings": []map[string]string{{"check": "oracle", "severity": "breaks", "text": "canary-finding"}},
		})
		return err
	}))
	mistake := config.Diagnostic{Severity: config.Error, Summary: "a mistake", File: "a.hcl", Line: 1, Snippet: "canary-snippet", Detail: "canary-advice"}
	f.now.Set.Diagnostics = append(f.now.Set.Diagnostics, mistake)
	f.now.Set.Files[0].Diagnostics = append(f.now.Set.Files[0].Diagnostics, mistake)
	f.server.Close()
	rec := reconcile.New(reconcile.Options{
		Store: f.store, Idle: true, Log: slog.New(slog.DiscardHandler), Host: trial.Host{OpenBlob: f.store.Blobs().Open, StateDir: f.store.Dir(), Log: slog.New(slog.DiscardHandler)},
	})
	rec.Snapshots.Publish(f.now)
	f.server = httptest.NewServer(New(Options{
		Reader: rec.Reader, Trials: rec.Trials, Summaries: rec.Summaries, API: api.Handler(rec, "v0", nil), Sessions: f.sessions, Owner: f.store.Owner(), Numbers: true, Log: slog.New(slog.DiscardHandler),
		Tokens: []Token{{Operator, wholeToken, true}, {Viewer, viewerToken, false}, {Operator, operatorToken, false}},
	}).Handler())
	t.Cleanup(f.server.Close)
	return f
}

// trials are the ids of all trials of run.r e1.
func (f *fixture) trials() (ids []string) {
	f.Helper()
	f.check(f.store.View(f.Context(), func(tx *store.Tx) error {
		return tx.EachCellShort("run.r", 1, func(c store.CellShort) error { ids = append(ids, c.Trial); return nil })
	}))
	return ids
}

func (f *fixture) blob(data []byte) string {
	f.Helper()
	w, err := f.store.Blobs().Create()
	f.check(err)
	_, err = w.Write(data)
	f.check(err)
	digest, _, err := w.Commit()
	f.check(err)
	return digest
}

func (f *fixture) archive(name, text string) string {
	f.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	f.check(w.WriteHeader(&tar.Header{Name: name, Size: int64(len(text)), Mode: 0o644, Typeflag: tar.TypeReg}))
	_, err := w.Write([]byte(text))
	f.check(errors.Join(err, w.Close()))
	return f.blob(b.Bytes())
}

// routes are addresses of every page and of every GET route of the API, by the pattern of the route.
func (f *fixture) routes() map[string][]string {
	f.Helper()
	id := f.trials()[0]
	fill := strings.NewReplacer("{$}", "", "{trial}", id, "{execution}", "e1", "{round}", "agent-2", "{a}", "agent-1", "{b}", "agent-2", "{benchmark}", "edge", "{task}", "one", "{mining}", "m", "{file}", "agent-2.output.txt")
	more := map[string][]string{ // what a route needs, and what somebody might try
		"/runs/{run}": {"?status=unresolved", "?part=trials"}, "/trials/{trial}": {"?part=board"}, "/trials/{trial}/rounds/{round}": {"?name=canary", "?status=failed", "?offset=0", "?part=tests", "?part=output"},
		"/trials/{trial}/steps": {"?tool=bash"}, "/compare": {"?a=run.r&b=run.r"}, "/compare/steps": {"?a=run.r&b=run.r&task=edge.one"},
		"/v1/status": {"?address=run.r"}, "/v1/trial": {"?id=" + id}, "/v1/output": {"?trial=" + id + "&round=agent-2"}, "/v1/results": {"?address=run.r"}, "/v1/logs": {"?trial=" + id}, "/v1/patch": {"?trial=" + id},
		"/v1/report": {"?run=run.r"}, "/v1/compare": {"?a=run.r&b=run.r"}, "/v1/harness": {"?run=run.r"}, "/v1/trials": {"?run=run.r"}, "/v1/trials/{trial}/rounds/{round}/tests": {"?name=canary-test", "?status=failed"},
	}
	all := map[string][]string{}
	add := func(pattern, run string) {
		at := strings.NewReplacer("{run}", run).Replace(fill.Replace(pattern))
		all[pattern] = []string{at}
		for _, query := range more[pattern] {
			all[pattern] = append(all[pattern], at+query)
		}
		delete(more, pattern)
	}
	for pattern := range New(Options{}).pages() {
		add(pattern, "r")
	}
	doc, err := apitest.Document()
	f.check(err)
	for path, item := range doc.Paths.Map() {
		if item.Get != nil && path != "/v1/events" { // which never ends, and names topics
			add(path, "run.r")
		}
	}
	for pattern := range more {
		f.Errorf("there is no route %s", pattern)
	}
	return all
}

// With content = "metadata" a viewer gets numbers, and no text that agents or hidden tests wrote, from whatever route and by whatever
// way in; an operator gets all of it.
func TestViewersOfNumbersGetNoText(t *testing.T) {
	f := newCanaries(t)
	text := regexp.MustCompile(`canary-?(\w*)`)
	seen := map[string]bool{}
	ask := func(who, at string, headers ...string) (status int) {
		a, body := f.do("GET", at, nil, headers...)
		if who != "viewer" {
			for _, m := range text.FindAllStringSubmatch(body, -1) {
				seen[m[1]] = true
			}
			return a.StatusCode
		}
		asked, err := url.QueryUnescape(at)
		f.check(err)
		for _, found := range text.FindAllString(body, -1) {
			if !strings.Contains(asked, found) { // an address that has it is told back
				t.Errorf("%s tells a viewer %s", at, found)
			}
		}
		if a.StatusCode >= 500 {
			t.Errorf("%s: %d %.300s", at, a.StatusCode, body)
		}
		return a.StatusCode
	}
	routes := f.routes()
	for _, role := range []Role{Viewer, Operator} {
		f.login(role)
		for pattern, all := range routes {
			for _, at := range all {
				status := ask(string(role), at)
				if role == Viewer && strings.HasPrefix(pattern, "/v1/trials/{trial}") && !strings.Contains(at, "output") && !strings.Contains(at, "name=") && !strings.Contains(at, "/files") && status != 200 {
					t.Errorf("%s: %d: the numbers stay", at, status)
				}
				if role == Viewer && slices.Contains([]string{"/trials/{trial}/log", "/trials/{trial}/steps", "/compare/steps", "/v1/logs", "/v1/results", "/v1/output", "/v1/patch", "/v1/harness"}, pattern) && strings.Contains(at, "?") && status != 403 || role == Viewer && strings.Contains(pattern, "/files") && status != 403 {
					t.Errorf("%s: %d, want 403", at, status)
				}
				if strings.HasPrefix(pattern, "/v1/") {
					token := map[Role]string{Viewer: viewerToken, Operator: operatorToken}[role]
					ask(string(role), at, "Authorization", "Bearer "+token)
				}
			}
		}
	}
	for _, name := range planted {
		if !seen[name] {
			t.Errorf("no operator sees canary-%s: it was not planted", name)
		}
	}
	f.login(Viewer)
	if _, body := f.do("GET", "/trials/"+f.trials()[0], nil); !strings.Contains(body, "0 of 1 tests pass in the best round, agent-2") || !strings.Contains(body, "who sees numbers") {
		t.Errorf("a viewer does not see the numbers: %s", body)
	}
	if _, body := f.do("GET", "/go?to=edge.one", nil); text.MatchString(body) {
		t.Errorf("what leads to a task tells of it: %s", body)
	}
}

// Where the settings say nothing of content, viewers see all.
func TestViewersSeeAllByThemselves(t *testing.T) {
	f := newHiding(t, 1)
	f.login(Viewer)
	if _, body := f.do("GET", "/benchmarks/edge/tasks/one", nil); !strings.Contains(body, "Make the crane turn.") || strings.Contains(body, "not shown to viewers") {
		t.Errorf("a viewer sees %s", body)
	}
}
