package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"

	"github.com/assayd/assayd/reconcile"
	"github.com/assayd/assayd/reconcile/evaluate"
	"github.com/assayd/assayd/reconcile/history"
	"github.com/assayd/assayd/reconcile/request"
	"github.com/assayd/assayd/reconcile/store/statedir"
	"github.com/assayd/assayd/reconcile/summary"
	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/judge/round"
)

// ask has a handler answer one request.
func ask(h http.Handler, method, target, body string) (*http.Response, problem) {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(method, target, strings.NewReader(body)))
	var p problem
	_ = json.Unmarshal(w.Body.Bytes(), &p) // no problem has no kind
	return w.Result(), p
}

func TestAnErrorHasItsKind(t *testing.T) {
	wrapped := func(err error) error { return fmt.Errorf("cancel run.x: %w", err) }
	for _, tt := range []struct {
		err    error
		status int
		kind   Kind
	}{
		{errors.New("anything else"), 500, Internal},
		{wrapped(history.ErrUnknown), 404, NotFound},
		{wrapped(request.ErrNothing), 409, Conflict},
		{wrapped(summary.ErrPairs), 409, Conflict},
		{wrapped(&request.Conflict{}), 409, Conflict},
		{wrapped(&request.Mistake{}), 400, Invalid},
		{wrapped(invalidf("limit is no number")), 400, Invalid},
		{wrapped(evaluate.ErrNeedsEngine), 409, NoEngine},
		{wrapped(request.ErrIdle), 409, ReadOnly},
		{wrapped(statedir.ErrReadOnly), 409, ReadOnly},
		{wrapped(statedir.ErrNoSpace), 503, Away},
		{wrapped(reconcile.ErrBlind), 503, Away},
		{wrapped(container.ErrUnavailable), 503, Away},
		{wrapped(reconcile.ErrDraining), 503, Busy},
		{invalidf("read the body: %w", &http.MaxBytesError{Limit: 1}), 413, TooLarge},
		{wrapped(&round.Refusal{Code: 400}), 400, Refused},
		{wrapped(&round.Refusal{Code: 403}), 403, Refused},
		{wrapped(&round.Refusal{Code: 410}), 410, Refused},
		{wrapped(&round.Refusal{Code: 413}), 413, TooLarge},
		{wrapped(&round.Refusal{Code: 429}), 429, Busy},
		{wrapped(&round.Refusal{Code: 503}), 503, Busy},
		{wrapped(&round.Refusal{Code: 502}), 502, Internal},
		{errors.Join(syscall.ENOSPC, history.ErrUnknown), 404, NotFound},
	} {
		if status, kind := classify(tt.err); status != tt.status || kind != tt.kind {
			t.Errorf("%v is %d %s, want %d %s", tt.err, status, kind, tt.status, tt.kind)
		}
	}
}

// What one end sends is what the other reads, whatever the version of either.
func TestTheClientReadsProblems(t *testing.T) {
	for _, k := range kinds {
		w := httptest.NewRecorder()
		Refuse(w, k.status, k.kind, "because")
		got := asError(w.Result())
		if !errors.Is(got, k.kind) || got.Code != k.status || got.Text != "because" {
			t.Errorf("%s: read as %+v", k.kind, got)
		}
		if kind := w.Result().Header.Get("Content-Type"); kind != problemType {
			t.Errorf("%s is sent as %s", k.kind, kind)
		}
		var p map[string]any
		if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil || p["type"] != "urn:assayd:problem:"+string(k.kind) || p["error"] != "because" || p["detail"] != "because" || p["title"] == "" {
			t.Errorf("%s: %s, %v", k.kind, w.Body, err)
		}
	}
	for status, want := range map[int]Kind{400: Invalid, 401: Unauthorized, 403: Forbidden, 404: NotFound, 405: Invalid, 409: Conflict, 413: TooLarge, 415: Invalid, 421: Forbidden, 429: Busy, 500: Internal, 502: Internal, 503: Busy} {
		for body, text := range map[string]string{`{"error":"of before"}`: "of before", "<html>a proxy": http.StatusText(status)} {
			old := &http.Response{StatusCode: status, Status: http.StatusText(status), Body: io.NopCloser(strings.NewReader(body))}
			if got := asError(old); got.Kind != want || got.Text != text {
				t.Errorf("%d %s: read as %+v, want %s", status, body, got, want)
			}
		}
	}
}

func TestOnlyWhatAnotherRequestMendsIsCorrectable(t *testing.T) {
	for err, want := range map[error]bool{
		errors.New("x"): false, &Error{Code: 500, Kind: Internal}: false, &Error{Code: 409, Kind: Conflict}: false, &Error{Code: 409, Kind: ReadOnly}: false,
		&Error{Code: 400, Kind: Invalid}: true, fmt.Errorf("eval: %w", &Error{Code: 410, Kind: Refused}): true, &Error{Code: 429, Kind: Busy}: true,
	} {
		if Correctable(err) != want {
			t.Errorf("%#v: %v", err, !want)
		}
	}
}

// A route that is not there, and a method that a route does not take, are problems like others.
func TestTheRouterAnswersWithProblems(t *testing.T) {
	mux := &router{}
	mux.mux.HandleFunc("GET /v1/things/{name}", func(w http.ResponseWriter, q *http.Request) { _, _ = io.WriteString(w, q.PathValue("name")) })
	mux.mux.HandleFunc("POST /v1/read", func(w http.ResponseWriter, q *http.Request) {
		var into Files
		answer(w, into, readBody(w, q, &into))
	})
	for _, tt := range []struct {
		method, path, body string
		status             int
		kind               Kind
	}{
		{"GET", "/v1/things/a", "", 200, ""},
		{"HEAD", "/v1/things/a", "", 200, ""},
		{"POST", "/v1/things/a", "", 405, Invalid},
		{"GET", "/v1/nothing", "", 404, NotFound},
		{"GET", "/v1/things/", "", 404, NotFound},
		{"GET", "/../x", "", 404, NotFound},
		{"POST", "/v1/read", `{"paths":["/a.hcl"]}`, 200, ""},
		{"POST", "/v1/read", `{"paths":"/a.hcl"}`, 400, Invalid},
		{"POST", "/v1/read", "", 400, Invalid},
		{"POST", "/v1/read", `{"paths":["` + strings.Repeat("x", maxBody) + `"]}`, 413, TooLarge},
	} {
		a, p := ask(mux, tt.method, tt.path, tt.body)
		if a.StatusCode != tt.status || p.Kind != tt.kind {
			t.Errorf("%s %s: %d %q, want %d %q", tt.method, tt.path, a.StatusCode, p.Kind, tt.status, tt.kind)
		}
		if allow := a.Header.Get("Allow"); (allow != "") != (tt.status == 405) {
			t.Errorf("%s %s allows %q", tt.method, tt.path, allow)
		}
	}
}
