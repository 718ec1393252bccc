package api

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile"
	"github.com/assayd/assayd/reconcile/plan"
	"github.com/assayd/assayd/reconcile/preview"
	"github.com/assayd/assayd/reconcile/query"
	"github.com/assayd/assayd/reconcile/request"
)

// Socket is where the daemon of a state directory listens.
func Socket(stateDir string) string { return filepath.Join(stateDir, "assayd.sock") }

// Version answers GET /v1/version.
type Version struct {
	Version string   `json:"version"`
	PID     int      `json:"pid"`
	Watches []string `json:"watches,omitempty"` // folders of specs, absolute
}

// Files is the body of POST /v1/submit, /v1/fetch, /v1/withdraw and /v1/plan: absolute paths of spec files, or of
// folders of them.
type Files struct {
	Paths []string `json:"paths"`
}

// Submitted answers POST /v1/submit.
type Submitted struct {
	Addresses   []string           `json:"addresses"`
	Diagnostics config.Diagnostics `json:"diagnostics"`
}

// Planned answers POST /v1/plan.
type Planned struct {
	preview.Previewed
	Diagnostics config.Diagnostics `json:"diagnostics"`
}

// Rerun answers POST /v1/rerun.
type Rerun struct {
	Differs *plan.Stale `json:"differs"` // from the content of the execution before; null = nothing
}

// poll is how often progress is told, at most.
const poll = 100 * time.Millisecond

// errNoPages says that this process serves none.
var errNoPages = request.Conflictf("this process serves no pages; a daemon does")

// Handler serves a reconciler on the control socket. Logins is nil where no pages are served.
func Handler(r *reconcile.Reconciler, version string, logins Logins) http.Handler {
	mux := &router{}
	for pattern, serve := range (&handler{r: r, version: version, logins: logins}).routes() {
		mux.mux.HandleFunc(pattern, numbersOnly(pattern, serve))
	}
	return mux
}

type handler struct {
	r       *reconcile.Reconciler
	version string
	logins  Logins
	streams atomic.Int64 // of events that are open
}

// routes are all that is served, by the patterns of http.ServeMux. openapi.yaml describes them.
func (h *handler) routes() map[string]http.HandlerFunc {
	return map[string]http.HandlerFunc{
		"GET /v1/version":      h.about,
		"GET /v1/status":       h.status,
		"GET /v1/events":       h.events,
		"GET /v1/trial":        h.trial,
		"GET /v1/output":       h.output,
		"POST /v1/rerun":       h.rerun,
		"POST /v1/retry":       h.retry,
		"POST /v1/cancel":      h.cancel,
		"POST /v1/drain":       h.drain,
		"GET /v1/notes":        h.notes,
		"POST /v1/notes":       h.note,
		"GET /v1/holds":        h.holds,
		"GET /v1/activity":     h.activity,
		"POST /v1/holds":       h.hold,
		"POST /v1/login":       h.login,
		"POST /v1/logout":      h.logout,
		"POST /v1/submit":      h.submit,
		"POST /v1/fetch":       h.fetch,
		"GET /v1/patch":        h.patch,
		"POST /v1/withdraw":    h.withdraw,
		"POST /v1/plan":        h.plan,
		"POST /v1/images":      h.images,
		"POST /v1/collect":     h.collect,
		"GET /v1/results":      h.results,
		"GET /v1/logs":         h.logs,
		"POST /v1/eval":        h.eval,
		"POST /v1/check":       h.check,
		"GET /v1/report":       h.report,
		"GET /v1/compare":      h.compare,
		"GET /v1/harness":      h.harness,
		"GET /v1/openapi.yaml": h.document,

		"DELETE /v1/holds/{target}":                    h.lift,
		"GET /v1/overview":                             h.overview,
		"GET /v1/health":                               h.health,
		"GET /v1/runs":                                 h.runs,
		"GET /v1/runs/{run}":                           h.run,
		"GET /v1/runs/{run}/executions":                h.executions,
		"GET /v1/trials":                               h.trials,
		"GET /v1/trials/{trial}":                       h.trialInfo,
		"POST /v1/trials/{trial}/stop":                 h.stop,
		"POST /v1/trials/{trial}/extend":               h.extend,
		"GET /v1/trials/{trial}/rounds":                h.rounds,
		"GET /v1/trials/{trial}/rounds/{round}":        h.round,
		"GET /v1/trials/{trial}/rounds/{round}/tests":  h.tests,
		"GET /v1/trials/{trial}/rounds/{round}/output": h.outputPage,
		"GET /v1/trials/{trial}/files":                 h.files,
		"GET /v1/trials/{trial}/files/{file}":          h.file,
		"GET /v1/spending":                             h.spending,
		"GET /v1/specs":                                h.specs,
		"GET /v1/tasks":                                h.taskPage,
		"GET /v1/mining/{mining}":                      h.mining,
		"GET /v1/mining/{mining}/pulls":                h.pulls,

		"GET /api/v1/tasks":              h.tasks,
		"GET /api/v1/runs/{run}/history": h.history,
	}
}

// answer sends v as JSON, or what went wrong.
func answer(w http.ResponseWriter, v any, err error) {
	if err != nil {
		fail(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // a reader that went away needs no answer
}

// Number reads a parameter that is a whole number; where it is missing it is what it is without.
func Number(q *http.Request, name string, without int) (int, error) {
	text := q.FormValue(name)
	if text == "" {
		return without, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0, invalidf("%s=%q is no whole number", name, text)
	}
	return n, nil
}

func (h *handler) about(w http.ResponseWriter, _ *http.Request) {
	answer(w, Version{h.version, os.Getpid(), h.r.Roots()}, nil)
}

func (h *handler) status(w http.ResponseWriter, q *http.Request) {
	query, err := statusQuery(q)
	if err != nil {
		fail(w, err)
		return
	}
	s, err := h.r.StatusOf(q.Context(), query)
	answer(w, s, err)
}

// statusQuery reads what a status is asked for.
func statusQuery(q *http.Request) (s query.StatusQuery, err error) {
	s = query.StatusQuery{Address: q.FormValue("address")}
	if s.Trials, err = Number(q, "trials", query.MaxTrials); err != nil {
		return s, err
	}
	since, err := Number(q, "since", 0)
	s.Since = int64(since)
	return s, err
}

func (h *handler) trial(w http.ResponseWriter, q *http.Request) {
	t, err := h.r.Trials.Status(q.Context(), q.FormValue("id"))
	answer(w, t, err)
}

func (h *handler) rerun(w http.ResponseWriter, q *http.Request) {
	differs, err := h.r.Rerun(asked(q), q.FormValue("name"))
	answer(w, Rerun{differs}, err)
}

func (h *handler) retry(w http.ResponseWriter, q *http.Request) {
	retried, err := h.r.Retry(asked(q), q.FormValue("name"))
	answer(w, retried, err)
}

func (h *handler) submit(w http.ResponseWriter, q *http.Request) {
	var f Files
	err := readBody(w, q, &f)
	if err != nil {
		fail(w, err)
		return
	}
	var s Submitted
	s.Addresses, s.Diagnostics, err = h.r.Submit(q.Context(), f.Paths)
	answer(w, s, err)
}

func (h *handler) withdraw(w http.ResponseWriter, q *http.Request) {
	var f Files
	err := readBody(w, q, &f)
	if err == nil {
		err = h.r.Withdraw(q.Context(), f.Paths)
	}
	answer(w, struct{}{}, err)
}

func (h *handler) plan(w http.ResponseWriter, q *http.Request) {
	var f Files
	err := readBody(w, q, &f)
	if err != nil {
		fail(w, err)
		return
	}
	inputs, err := config.ReadAll(f.Paths)
	if err != nil {
		fail(w, invalidf("read specs: %w", err))
		return
	}
	var p Planned
	p.Previewed, p.Diagnostics, err = h.r.Preview(q.Context(), inputs)
	answer(w, p, err)
}
