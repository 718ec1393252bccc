package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/assayd/assayd/daemon/api"
	"github.com/assayd/assayd/reconcile/store"
)

// Each route is asked in some way, and all answers are as described: the fixture's clients see to it.
func TestEveryRouteAnswersAsDescribed(t *testing.T) {
	f := newFixture(t, seeded(2, 3, 2), pulled(3), func(tx *store.Tx) error {
		_, err := tx.AppendLine(store.StreamRef{Spec: "run.old", Root: t.TempDir(), Path: filepath.Join(t.TempDir(), "old.jsonl")},
			store.Envelope{Type: "run.accepted", Spec: "run.old", Execution: 1}, map[string]string{"file": "old.hcl"})
		return err
	})
	files := fmt.Sprintf(`{"paths":[%q]}`, filepath.Join(f.specs, "all.hcl"))
	large := `{"paths":["` + strings.Repeat("x", api.MaxBody) + `"]}`
	none := `{"paths":["/none/such.hcl"]}`
	routes := http.NewServeMux()
	left := map[string]bool{}
	for _, pattern := range api.Routes() {
		routes.Handle(pattern, http.NotFoundHandler()) // only found, never called
		left[pattern] = true
	}
	for _, tt := range []struct {
		method, target, body string
		kind                 api.Kind
		contains             string
	}{
		{"GET", "/v1/openapi.yaml", "", "", "openapi: 3.1.0"},
		{"GET", "/v1/version", "", "", `"version":"v0"`},
		{"GET", "/v1/status", "", "", `"run.a"`},
		{"GET", "/v1/status?address=run.old", "", "", `"execution":2`},
		{"GET", "/v1/status?address=mining.x", "", "", `"seen":3`},
		{"GET", "/v1/status?address=run.none", "", api.NotFound, "run.none"},
		{"GET", "/v1/trial?id=" + doneTrial, "", "", "test_Rotate[0]"},
		{"GET", "/v1/trial?id=run.old", "", api.NotFound, "is a run"},
		{"GET", "/v1/output?trial=" + doneTrial + "&round=agent-1", "", api.Conflict, "has no output"},
		{"GET", "/v1/output?trial=" + doneTrial + "&round=agent-9", "", api.NotFound, "its rounds are agent-1"},
		{"GET", "/v1/output?trial=none&round=agent-1", "", api.NotFound, "none"},
		{"GET", "/v1/logs?trial=" + doneTrial, "", "", ""},
		{"GET", "/v1/logs?trial=none", "", api.NotFound, "none"},
		{"GET", "/v1/logs?trial=" + doneTrial + "&try=last", "", api.Invalid, "try"},
		{"GET", "/v1/patch?trial=" + doneTrial, "", "", ""},
		{"GET", "/v1/patch?trial=none", "", api.NotFound, "none"},
		{"GET", "/v1/results?address=run.old", "", "", `"type":"run.accepted"`},
		{"GET", "/v1/results?address=run.a", "", "", ""},
		{"GET", "/v1/results?address=run.none", "", api.NotFound, "run.none"},
		{"GET", "/v1/results?address=run.old&from=first", "", api.Invalid, "from"},
		{"POST", "/v1/plan", files, "", `"plan"`},
		{"POST", "/v1/plan", none, api.Invalid, "/none/such.hcl"},
		{"POST", "/v1/plan", large, api.TooLarge, "too large"},
		{"POST", "/v1/submit", files, "", `"run.a"`},
		{"POST", "/v1/submit", none, api.Invalid, "/none/such.hcl"},
		{"POST", "/v1/submit", "", api.Invalid, "body"},
		{"POST", "/v1/withdraw", files, "", "{}"},
		{"POST", "/v1/withdraw", "[]", api.Invalid, "body"},
		{"POST", "/v1/fetch", files, "", `"end":true`},
		{"POST", "/v1/fetch", none, "", `"kind":"invalid"`},
		{"POST", "/v1/fetch", "paths", api.Invalid, "body"},
		{"POST", "/v1/rerun?name=run.none", "", api.NotFound, "run.none"},
		{"POST", "/v1/retry?name=run.a", "", api.Conflict, "has not begun"},
		{"POST", "/v1/retry?name=mining.x", "", api.Invalid, "mining"},
		{"POST", "/v1/cancel?name=run.a", "", api.Conflict, "nothing of it runs"},
		{"POST", "/v1/cancel?name=run.none", "", api.NotFound, "run.none"},
		{"POST", "/v1/cancel?name=mining.x&dry_run=1", "", "", `"changed":true,"state":"cancelled"`},
		{"POST", "/v1/cancel?name=mining.x&reason=why", "", "", `"changed":true,"state":"cancelled"`},
		{"POST", "/v1/cancel?name=mining.x", "", "", `"changed":false,"state":"cancelled"`},
		{"POST", "/v1/cancel?name=mining.x&reason=%1b", "", api.Invalid, "printable"},
		{"POST", "/v1/trials/" + doneTrial + "/stop", `{"reason":"why"}`, api.Conflict, "waits for its next try"},
		{"POST", "/v1/trials/run.a/stop", "", api.Invalid, "only a trial"},
		{"POST", "/v1/trials/run.a/stop", `{"target":"run.old"}`, api.Invalid, "path"},
		{"POST", "/v1/trials/none/stop", "", api.NotFound, "none"},
		{"POST", "/v1/trials/" + doneTrial + "/extend", `{"for_s":60,"reason":"why"}`, api.Conflict, "waits for its next try"},
		{"POST", "/v1/trials/" + doneTrial + "/extend", `{"for_s":0}`, api.Invalid, "from 1s"},
		{"POST", "/v1/trials/" + doneTrial + "/extend", `{"for_s":1e99}`, api.Invalid, "body"},
		{"POST", "/v1/trials/" + doneTrial + "/extend", "", api.Invalid, "body"},
		{"POST", "/v1/trials/run.a/extend", `{"for_s":60}`, api.Invalid, "only a trial"},
		{"POST", "/v1/trials/run.a/extend", `{"for_s":60,"target":"run.old"}`, api.Invalid, "path"},
		{"POST", "/v1/drain", `{"dry_run":true}`, "", `"changed":true,"state":"paused"`},
		{"POST", "/v1/drain", "", "", `"changed":true,"state":"paused"`},
		{"POST", "/v1/drain", "", "", `"changed":false,"state":"paused"`},
		{"POST", "/v1/drain", `{"target":"run.a"}`, api.Invalid, "leave it out"},
		{"DELETE", "/v1/holds/all", "", "", `"changed":true,"state":"open"`},
		{"GET", "/v1/notes", "", api.Invalid, "target is missing"},
		{"POST", "/v1/notes", `{"target":"run.a","text":"an <b>incident</b>","dry_run":true}`, "", `"changed":true,"state":"note"`},
		{"POST", "/v1/notes", `{"target":"run.a","text":"an <b>incident</b>"}`, "", `"changed":true,"state":"note"`},
		{"POST", "/v1/notes", `{"target":"run.a","text":"an <b>incident</b>"}`, "", `"changed":false,"state":"note"`},
		{"POST", "/v1/notes", `{"target":"run.a","text":"two\nlines"}`, api.Invalid, "one line"},
		{"POST", "/v1/notes", `{"target":"run.a"}`, api.Invalid, "a text, or a tag"},
		{"POST", "/v1/notes", `{"target":"run.none","text":"x"}`, api.NotFound, "run.none"},
		{"POST", "/v1/notes", `{"target":"mining.x","tag":"x"}`, "", `"changed":true,"state":"tag"`},
		{"POST", "/v1/notes", "note", api.Invalid, "body"},
		{"POST", "/v1/notes", `{"target":"` + doneTrial + `","tag":"sus pect"}`, api.Invalid, "letters"},
		{"POST", "/v1/notes", `{"target":"` + doneTrial + `","tag":"suspect"}`, "", `"changed":true,"state":"tag"`},
		{"POST", "/v1/notes", `{"target":"` + doneTrial + `","tag":"suspect"}`, "", `"changed":false,"state":"tag"`},
		{"GET", "/v1/notes?target=run.a", "", "", `"by":"unknown"`},
		{"GET", "/v1/status?address=run.a", "", "", `"notes":[{"text":"an \u003cb`},
		{"GET", "/v1/runs/run.a", "", "", `"notes":[{"text":"an \u003cb`},
		{"GET", "/v1/mining/mining.x", "", "", `"tags":["x"]`},
		{"GET", "/v1/trials/" + doneTrial, "", "", `"tags":["suspect"]`},
		{"GET", "/v1/trials?run=run.old&execution=1&tag=suspect", "", "", `"tags":["suspect"]`},
		{"GET", "/v1/trials?run=run.old&execution=1&tag=none", "", "", `"items":[]`},
		{"POST", "/v1/notes", `{"target":"` + doneTrial + `","tag":"suspect","remove":true}`, "", `"changed":true,"state":"untag"`},
		{"POST", "/v1/notes", `{"target":"` + doneTrial + `","tag":"suspect","remove":true}`, "", `"changed":false,"state":"untag"`},
		{"GET", "/v1/holds", "", "", `"holds":[]`},
		{"POST", "/v1/holds", `{"target":"all","reason":"why","dry_run":true}`, "", `"changed":true,"state":"paused"`},
		{"POST", "/v1/holds", `{"target":"all","reason":"why"}`, "", `"changed":true,"state":"paused"`},
		{"POST", "/v1/holds", `{"target":"all"}`, "", `"changed":false,"state":"paused"`},
		{"GET", "/v1/holds", "", "", `"reason":"why"`},
		{"GET", "/v1/activity", "", "", `"action":"pause","target":"all"`},
		{"GET", "/v1/status?address=run.a", "", "", `"holds":[{"target":"all"`},
		{"POST", "/v1/holds", `{"target":"run.none"}`, api.NotFound, "run.none"},
		{"POST", "/v1/holds", `{"target":"engine.docker"}`, api.Invalid, "pause all"},
		{"POST", "/v1/holds", `{}`, api.Invalid, "target is missing"},
		{"POST", "/v1/holds", "hold", api.Invalid, "body"},
		{"DELETE", "/v1/holds/all?kind=none", "", api.Invalid, "throttle"},
		{"DELETE", "/v1/holds/all?dry_run=1", "", "", `"changed":true,"state":"open"`},
		{"DELETE", "/v1/holds/all", "", "", `"changed":true,"state":"open"`},
		{"DELETE", "/v1/holds/all", "", "", `"changed":false,"state":"open"`},
		{"DELETE", "/v1/holds/run.none", "", api.NotFound, "run.none"},
		{"POST", "/v1/login", "", "", `"code":"code"`},
		{"POST", "/v1/logout", "", "", `"sessions":2`},
		{"POST", "/v1/images", `{"verb":"burn"}`, "", `"kind":"invalid"`},
		{"POST", "/v1/images", "burn", api.Invalid, "body"},
		{"POST", "/v1/collect", `{"dry_run":true}`, "", `"bytes":0`},
		{"POST", "/v1/collect", "[]", api.Invalid, "body"},
		{"POST", "/v1/eval?task=benchmark.none", "", api.ReadOnly, "no daemon"}, // the fixture has no judge
		{"POST", "/v1/check?task=benchmark.none", "", api.ReadOnly, "no daemon"},
		{"POST", "/v1/check?repeat=often", "", api.Invalid, "repeat"},
		{"GET", "/v1/report?run=run.old.e1", "", "", `"summary"`},
		{"GET", "/v1/report?run=run.old.e9", "", api.NotFound, "e9"},
		{"GET", "/v1/report?run=run.a", "", api.Conflict, "has not begun"},
		{"GET", "/v1/compare?a=run.old.e1&b=run.old.e1", "", "", `"comparisons"`},
		{"GET", "/v1/compare?a=run.old.e1&b=run.old.e1&agent=x", "", api.Conflict, "x"},
		{"GET", "/v1/harness?run=run.old", "", "", `"summary"`},
		{"GET", "/api/v1/tasks", "", "", `"benchmark.edge[\"one\"]"`},
		{"GET", "/api/v1/tasks?file=" + filepath.Join(f.specs, "all.hcl"), "", "", `"benchmark.edge[\"one\"]"`},
		{"GET", "/api/v1/runs/" + doneTrial + "/history", "", "", `"agent_submissions":3`},
		{"GET", "/api/v1/runs/run.none/history", "", api.NotFound, "run.none"},
		{"GET", "/v1/events?" + strings.Repeat("topic=host&", 101), "", api.Invalid, "101 topics"},
		{"GET", "/v1/status?since=now", "", api.Invalid, "since"},
		{"GET", "/v1/status?trials=-1", "", api.Invalid, "trials"},
		{"GET", "/v1/overview", "", "", `"run.a"`},
		{"GET", "/v1/health", "", "", `"findings"`},
		{"GET", "/v1/runs", "", "", `"run.a"`},
		{"GET", "/v1/runs/run.a", "", "", `"run.a"`},
		{"GET", "/v1/runs/run.old/executions", "", "", `"execution":2`},
		{"GET", "/v1/trials?run=run.old&execution=1", "", "", `"state":"unresolved"`},
		{"GET", "/v1/trials?run=run.old&execution=1&status=working", "", "", `"items":[]`},
		{"GET", "/v1/trials?run=run.old&execution=9", "", api.NotFound, "e9"},
		{"GET", "/v1/trials?run=run.a&sort=changed", "", "", `"items":[]`},
		{"GET", "/v1/trials?run=run.none", "", api.NotFound, "run.none"},
		{"GET", "/v1/trials", "", api.Invalid, "run is missing"},
		{"GET", "/v1/trials?run=run.old&status=done", "", api.Invalid, "unresolved"},
		{"GET", "/v1/trials?run=run.old&sort=size", "", api.Invalid, "changed"},
		{"GET", "/v1/trials/" + doneTrial, "", "", `"run":"run.old"`},
		{"GET", "/v1/trials/" + doneTrial + "/rounds", "", "", `"agent-3"`},
		{"GET", "/v1/trials/" + doneTrial + "/rounds/agent-2", "", "", `"agent-2"`},
		{"GET", "/v1/trials/" + doneTrial + "/rounds/agent-2/tests", "", "", `"test_Rotate[0]"`},
		{"GET", "/v1/trials/" + doneTrial + "/rounds/agent-2/output", "", api.Conflict, "has no output"},
		{"GET", "/v1/trials/" + doneTrial + "/files", "", "", `"name":"try-1.prompt.md","kind":"prompt","try":1`},
		{"GET", "/v1/trials/none/files", "", api.NotFound, "none"},
		{"GET", "/v1/trials/" + doneTrial + "/files/try-1.prompt.md", "", "", "How your work is judged"},
		{"GET", "/v1/trials/" + doneTrial + "/files/try-2.prompt.md", "", api.NotFound, "lists those"},
		{"GET", "/v1/trials/" + doneTrial + "/files/agent-2.archive.tar", "", api.NotFound, "has no file"},
		{"GET", "/v1/trials/" + doneTrial + "/files/agent-9.output.txt", "", api.NotFound, "agent-9"},
		{"GET", "/v1/trials/" + doneTrial + "/files/..%2F..%2Fassayd.db", "", api.NotFound, "has no file"},
		{"GET", "/v1/spending", "", "", `"hour_usd":0`},
		{"GET", "/v1/specs", "", "", `"all.hcl"`},
		{"GET", "/v1/tasks", "", "", `"benchmark.edge[\"one\"]"`},
		{"GET", "/v1/mining/mining.x", "", "", `"mining.x"`},
		{"GET", "/v1/mining/mining.x/pulls", "", "", `"acme/shop"`},
		{"GET", "/v2/runs", "", api.NotFound, "openapi.yaml"},
		{"DELETE", "/v1/runs/run.a", "", api.Invalid, "GET"},
	} {
		text, kind := f.ask(tt.method, tt.target, tt.body)
		if kind != tt.kind || !strings.Contains(text, tt.contains) {
			t.Errorf("%s %s: %q, want %q with %q: %s", tt.method, tt.target, kind, tt.kind, tt.contains, text)
		}
		q, err := http.NewRequestWithContext(t.Context(), tt.method, tt.target, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, pattern := routes.Handler(q)
		delete(left, pattern)
	}
	for pattern := range left {
		t.Errorf("%s was not asked", pattern)
	}
}

// Events are as described, too: what one who was away has missed, and that of another state.
func TestEventsAreAsDescribed(t *testing.T) {
	f := newFixture(t, seeded(1, 2, 1), pulled(3))
	for last, want := range map[string]string{"": "hello", "1." + f.store.Owner(): "look", "1.another": "reset"} {
		seen := ""
		if err := f.client.Events(t.Context(), last, nil, func(e api.Event) bool { seen = e.Kind; return seen != want }); err != nil || seen != want {
			t.Errorf("behind %q comes %s, %v", last, seen, err)
		}
	}
}

// A process that only reads answers what it can, and says of the rest why not.
func TestWhatOnlyReadsChangesNothing(t *testing.T) {
	f := newIdleFixture(t, seeded(1, 2, 1))
	for _, target := range []string{"/v1/status", "/v1/runs", "/v1/specs", "/v1/tasks", "/v1/trials/" + doneTrial + "/rounds"} {
		if text, kind := f.ask("GET", target, ""); kind != "" {
			t.Errorf("%s: %s", target, text)
		}
	}
	for _, target := range []string{"/v1/cancel?name=run.old", "/v1/rerun?name=mining.x", "/v1/retry?name=run.old", "/v1/eval?trial=" + doneTrial, "/v1/collect"} {
		if text, kind := f.ask("POST", target, "{}"); kind != api.ReadOnly {
			t.Errorf("%s: %s", target, text)
		}
	}
	var end struct{ End struct{ Kind api.Kind } }
	text, _ := f.ask("POST", "/v1/images", `{"verb":"build"}`)
	if err := json.Unmarshal([]byte(text), &end); err != nil || end.End.Kind != api.ReadOnly {
		t.Errorf("images: %s, %v", text, err)
	}
}
