package apitest

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
)

func TestWhatIsNotDescribedIsFound(t *testing.T) {
	const plain, trouble, lines = "application/json", "application/problem+json", "application/x-ndjson"
	const conflict = `{"type":"urn:assayd:problem:conflict","title":"x","status":409,"detail":"x","kind":"conflict","error":"x"}`
	record := `{"v":1,"seq":1,"time":"2026-01-02T03:04:05.000000000Z","type":"x","spec":"run.x","generation":"g","more":true}` + "\n"
	for _, tt := range []struct {
		name, method, path string
		status             int
		kind, body, wrong  string // wrong = a part of what is found
	}{
		{"as described", "GET", "/v1/version", 200, plain, `{"version":"v1","pid":1}`, ""},
		{"a member that is not described", "GET", "/v1/version", 200, plain, `{"version":"v1","pid":1,"more":true}`, "more"},
		{"a member that is missing", "GET", "/v1/version", 200, plain, `{"version":"v1"}`, "pid"},
		{"a member of another type", "GET", "/v1/version", 200, plain, `{"version":1,"pid":1}`, "version"},
		{"a member further down", "GET", "/v1/runs", 200, plain, `{"as_of":"2026-01-02T03:04:05Z","items":[{"address":"run.x"}]}`, "items/0"},
		{"a time that is none", "GET", "/v1/runs", 200, plain, `{"as_of":"today","items":[]}`, "as_of"},
		{"no JSON", "GET", "/v1/version", 200, plain, `{`, "EOF"},
		{"another type of body", "GET", "/v1/version", 200, "text/html", `<p>`, "text/html"},
		{"a status that is not described", "GET", "/v1/version", 204, plain, ``, "204"},
		{"a path that is not described", "GET", "/v1/none", 200, plain, `{}`, "not described"},
		{"an error", "GET", "/v1/version", 409, trouble, conflict, ""},
		{"an error of a path that is not there", "GET", "/v1/none", 404, trouble, conflict, ""},
		{"an error of another type", "GET", "/v1/version", 409, plain, conflict, "application/json"},
		{"a kind that is not known", "GET", "/v1/version", 409, trouble, strings.Replace(conflict, `"conflict"`, `"clash"`, 1), "kind"},
		{"a path with values", "GET", "/v1/trials/a.e1.x/rounds/agent-1/tests", 200, plain, `{"as_of":"2026-01-02T03:04:05Z","items":[{"n":1,"name":"x","status":"passed"}]}`, ""},
		{"records", "GET", "/v1/results", 200, lines, record + record, ""},
		{"a record that is none", "GET", "/v1/results", 200, lines, record + `{"v":1}` + "\n", "seq"},
		{"events", "GET", "/v1/events", 200, "text/event-stream", "id: 1.x\nevent: look\ndata: {\"n\":1,\"of\":[\"run.x\"]}\n\n: nothing new\n\nevent: reset\ndata: {}\n\n", ""},
		{"an event with too much", "GET", "/v1/events", 200, "text/event-stream", "event: look\ndata: {\"n\":1,\"of\":[],\"more\":1}\n\n", "more"},
		{"an event that is not described", "GET", "/v1/events", 200, "text/event-stream", "event: gone\ndata: {}\n\n", "gone"},
		{"an event without a type", "GET", "/v1/events", 200, "text/event-stream", "data: {}\n\n", "not described"},
		{"a text", "GET", "/v1/logs", 200, "text/plain; charset=utf-8", "\xff", ""},
	} {
		q, err := http.NewRequestWithContext(t.Context(), tt.method, "http://assayd"+tt.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		var found []string
		a := &http.Response{StatusCode: tt.status, Header: http.Header{"Content-Type": {tt.kind}}, Body: io.NopCloser(iotest.OneByteReader(strings.NewReader(tt.body)))}
		Check(q, a, func(err error) { found = append(found, err.Error()) })
		if text, err := io.ReadAll(a.Body); err != nil || string(text) != tt.body {
			t.Errorf("%s: the reader gets %q, %v", tt.name, text, err)
		}
		if all := strings.Join(found, "\n"); (all != "") != (tt.wrong != "") || !strings.Contains(all, tt.wrong) || len(found) > 1 {
			t.Errorf("%s: found is %q, want %q", tt.name, found, tt.wrong)
		}
	}
}
