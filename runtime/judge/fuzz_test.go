package judge

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/container/containertest"
	"github.com/assayd/assayd/runtime/judge/judgetest"
	"github.com/assayd/assayd/runtime/judge/round"
)

// FuzzEveryRoute sends anything to anywhere on a trial's door: the answer is JSON that says
// what was wrong, nothing breaks, and nothing of the neighbour's is in it.
func FuzzEveryRoute(f *testing.F) {
	for _, request := range []string{
		"GET /api/v1/history", "GET /api/v1/history?token=token-t", "GET /api/v1/result/x?wait=1ns", "POST /api/v1/submit",
		"POST /api/v1/game/g/t/create", "POST /api/v1/game/g/t/1/step", "GET /api/v1/game/g/t/1/state", "POST /api/v1/game/g/t/close-all",
		"POST /api/v1/register", "GET /api/v1/tasks", "GET /api/v1/runs/n/history", "GET /api/v1/history?run_id=n&admin_secret=x",
		"DELETE /", "GET //api/v1/../v1/history", "GET /%2e%2e/history", "PUT /api/v1/result/%00",
	} {
		method, target, _ := strings.Cut(request, " ")
		f.Add(method, target, "Bearer token-t", []byte(`{"action":"a","session_id":"1"}`), false)
		f.Add(method, target, "", []byte("{"), true)
	}
	fake, ledger := containertest.NewFake(), judgetest.NewLedger()
	f.Cleanup(func() { _ = fake.Close() })
	fake.Handle(func(context.Context, *containertest.FakeContainer) int { return 1 }) // no game ever answers
	image := fake.AddImage("judge:1", container.ImageConfig{}, map[string]string{"/hold": "", "/work/tests/x": ""})
	j, err := New(Options{
		Engine: fake, Ledger: ledger, Blobs: judgetest.NewBlobs(), Capacity: judgetest.NewPlaces(1), Owner: "fuzz", PauseProcess: []string{"/hold"},
		Parsers: lineParser, Spool: f.TempDir(),
	})
	if err != nil {
		f.Fatal(err)
	}
	const secret = "neighbours-token"
	s := round.Session{Trial: "t", Token: "token-t", JudgeImage: image.ID, Max: 1}
	s.Task.Workdir, s.Task.Submit.Paths, s.Task.Judge.Parser = "/work", []string{"."}, "lines"
	neighbour := s
	neighbour.Trial, neighbour.Token = "n", secret
	f.Fuzz(func(t *testing.T, method, target, authorization string, body []byte, form bool) {
		if strings.Contains(target+authorization+string(body), secret) {
			return
		}
		r, err := http.NewRequestWithContext(t.Context(), method, target, bytes.NewReader(body))
		if err != nil || r.URL.Path == "" || target == "*" {
			return // no client can send it, or the router answers for itself
		}
		j.Open(s)
		j.Open(neighbour)
		defer j.Forget("t")
		defer j.Forget("n")
		defer func() { ledger.All = nil }()
		r.RequestURI = target
		r.Header.Set("Authorization", authorization)
		if form {
			r.Header.Set("Content-Type", "multipart/form-data; boundary=x")
		}
		w := httptest.NewRecorder()
		j.Handler("t").ServeHTTP(w, r)
		text := w.Body.String()
		if strings.Contains(text, secret) {
			t.Fatalf("the neighbour's token is in the answer: %s", text)
		}
		redirect := w.Code/100 == 3 // of a path that is not clean, by the router itself
		if w.Code >= 500 || !redirect && w.Code != http.StatusMethodNotAllowed && !json.Valid([]byte(text)) {
			t.Fatalf("%d %q", w.Code, text)
		}
		for _, x := range ledger.All {
			if x.Trial != "t" {
				t.Fatalf("a round of trial %s came in by the door of t", x.Trial)
			}
		}
	})
}
