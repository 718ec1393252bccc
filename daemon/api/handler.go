package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile"
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
	reconcile.Previewed
	Diagnostics config.Diagnostics `json:"diagnostics"`
}

// Rerun answers POST /v1/rerun.
type Rerun struct {
	Differs *reconcile.Stale `json:"differs"` // from the content of the execution before; null = nothing
}

// problem is the body of an error.
type problem struct {
	Error string `json:"error"`
}

// poll is how often progress is told, at most.
const poll = 100 * time.Millisecond

// Handler serves a reconciler on the control socket.
func Handler(r *reconcile.Reconciler, version string) http.Handler {
	h := &handler{r: r}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/version", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, Version{version, os.Getpid(), r.Roots()}, nil)
	})
	mux.HandleFunc("GET /v1/status", func(w http.ResponseWriter, q *http.Request) {
		query, err := statusQuery(q)
		if err != nil {
			answer(w, nil, err)
			return
		}
		s, err := r.StatusOf(q.Context(), query)
		answer(w, s, err)
	})
	mux.HandleFunc("GET /v1/events", h.events(version))
	mux.HandleFunc("GET /v1/trial", func(w http.ResponseWriter, q *http.Request) {
		t, err := r.Trial(q.Context(), q.FormValue("id"))
		answer(w, t, err)
	})
	mux.HandleFunc("GET /v1/output", h.output)
	mux.HandleFunc("POST /v1/rerun", func(w http.ResponseWriter, q *http.Request) {
		differs, err := r.Rerun(q.Context(), q.FormValue("name"))
		answer(w, Rerun{differs}, err)
	})
	mux.HandleFunc("POST /v1/retry", func(w http.ResponseWriter, q *http.Request) {
		retried, err := r.Retry(q.Context(), q.FormValue("name"))
		answer(w, retried, err)
	})
	mux.HandleFunc("POST /v1/cancel", func(w http.ResponseWriter, q *http.Request) {
		answer(w, struct{}{}, r.Cancel(q.Context(), q.FormValue("name")))
	})
	mux.HandleFunc("POST /v1/submit", h.submit)
	mux.HandleFunc("POST /v1/fetch", h.fetch)
	mux.HandleFunc("GET /v1/patch", h.patch)
	mux.HandleFunc("POST /v1/withdraw", h.withdraw)
	mux.HandleFunc("POST /v1/plan", h.plan)
	mux.HandleFunc("POST /v1/images", h.images)
	mux.HandleFunc("POST /v1/collect", h.collect)
	mux.HandleFunc("GET /v1/results", h.results)
	mux.HandleFunc("GET /v1/logs", h.logs)
	mux.HandleFunc("POST /v1/eval", h.eval(version))
	mux.HandleFunc("POST /v1/check", h.check(version))
	mux.HandleFunc("GET /v1/report", h.report)
	mux.HandleFunc("GET /v1/compare", h.compare)
	mux.HandleFunc("GET /v1/harness", h.harness)
	mux.HandleFunc("GET /api/v1/tasks", h.tasks)
	mux.HandleFunc("GET /api/v1/runs/{run}/history", h.history)
	return mux
}

type handler struct {
	r       *reconcile.Reconciler
	streams atomic.Int64 // of events that are open
}

// statusQuery reads what a status is asked for.
func statusQuery(q *http.Request) (s reconcile.StatusQuery, err error) {
	s = reconcile.StatusQuery{Address: q.FormValue("address"), Trials: reconcile.MaxTrials}
	if text := q.FormValue("trials"); text != "" {
		if s.Trials, err = strconv.Atoi(text); err != nil || s.Trials < 0 {
			return s, fmt.Errorf("trials=%q: it must be a number, 0 or more", text)
		}
	}
	if text := q.FormValue("since"); text != "" {
		if s.Since, err = strconv.ParseInt(text, 10, 64); err != nil || s.Since < 0 {
			return s, fmt.Errorf("since=%q: it must be the number of a change", text)
		}
	}
	return s, nil
}

func answer(w http.ResponseWriter, v any, err error) {
	w.Header().Set("Content-Type", "application/json")
	if err != nil {
		code := http.StatusInternalServerError
		switch {
		case errors.Is(err, reconcile.ErrUnknown):
			code = http.StatusNotFound
		case errors.Is(err, reconcile.ErrNothing), errors.Is(err, reconcile.ErrNeedsEngine), errors.Is(err, reconcile.ErrPairs):
			code = http.StatusConflict
		}
		w.WriteHeader(code)
		v = problem{err.Error()}
	}
	_ = json.NewEncoder(w).Encode(v) // a reader that went away is nobody's problem
}

func readFiles(q *http.Request) (f Files, err error) {
	err = json.NewDecoder(io.LimitReader(q.Body, 1<<20)).Decode(&f)
	return f, err
}

func (h *handler) submit(w http.ResponseWriter, q *http.Request) {
	f, err := readFiles(q)
	if err != nil {
		answer(w, nil, err)
		return
	}
	var s Submitted
	s.Addresses, s.Diagnostics, err = h.r.Submit(q.Context(), f.Paths)
	answer(w, s, err)
}

func (h *handler) withdraw(w http.ResponseWriter, q *http.Request) {
	f, err := readFiles(q)
	if err == nil {
		err = h.r.Withdraw(q.Context(), f.Paths)
	}
	answer(w, struct{}{}, err)
}

func (h *handler) plan(w http.ResponseWriter, q *http.Request) {
	f, err := readFiles(q)
	if err != nil {
		answer(w, nil, err)
		return
	}
	inputs, err := config.ReadAll(f.Paths)
	if err != nil {
		answer(w, nil, fmt.Errorf("read specs: %w", err))
		return
	}
	var p Planned
	p.Previewed, p.Diagnostics, err = h.r.Preview(q.Context(), inputs)
	answer(w, p, err)
}

// results streams stored lines of a run, and with follow=1 goes on as they come.
func (h *handler) results(w http.ResponseWriter, q *http.Request) {
	address, follow := q.FormValue("address"), q.FormValue("follow") == "1"
	seq, _ := strconv.Atoi(q.FormValue("from"))
	seq = max(seq, 1)
	watcher := h.r.Watch() // before the first look: nothing comes between
	defer watcher.Close()
	for started := false; ; started = true {
		lines, err := h.r.Lines(q.Context(), address, seq, 1000)
		switch {
		case err != nil && started:
			panic(http.ErrAbortHandler) // or the client would take it for the end
		case err != nil:
			answer(w, nil, err)
			return
		}
		for _, l := range lines {
			if _, err := w.Write(append(l.Data, '\n')); err != nil {
				return
			}
			seq = l.Seq + 1
		}
		if !follow && len(lines) == 0 {
			return
		}
		if http.NewResponseController(w).Flush() != nil || len(lines) == 0 && !await(q.Context(), watcher, address) {
			return
		}
	}
}

// output sends what the judge command wrote in a round.
func (h *handler) output(w http.ResponseWriter, q *http.Request) {
	out, err := h.r.Output(q.Context(), q.FormValue("trial"), q.FormValue("round"))
	if err != nil {
		answer(w, nil, err)
		return
	}
	defer func() { _ = out.Close() }() // only read
	_, _ = io.Copy(w, out)             // a reader that went away is nobody's problem
}

// logs streams the log of a trial's try, and with follow=1 goes on until the try is over.
func (h *handler) logs(w http.ResponseWriter, q *http.Request) {
	id, follow := q.FormValue("trial"), q.FormValue("follow") == "1"
	try, _ := strconv.Atoi(q.FormValue("try"))
	var offset int64
	watcher := h.r.Watch() // before the first look: nothing comes between
	defer watcher.Close()
	for {
		log, end, over, err := h.r.OpenLog(q.Context(), id, try, offset)
		switch {
		case errors.Is(err, os.ErrNotExist): // not yet
		case err != nil:
			answer(w, nil, err)
			return
		default:
			_, err = io.Copy(w, log)
			if err = errors.Join(err, log.Close()); err != nil {
				return
			}
		}
		n := end - offset
		offset = end
		if n == 0 && (!follow || over) {
			return
		}
		if http.NewResponseController(w).Flush() != nil || n == 0 && !await(q.Context(), watcher, id) {
			return
		}
	}
}
