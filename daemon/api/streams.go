package api

import (
	"errors"
	"io"
	"net/http"
	"os"
)

// results streams stored lines of a run, and with follow=1 goes on as they come.
func (h *handler) results(w http.ResponseWriter, q *http.Request) {
	address, follow := q.FormValue("address"), q.FormValue("follow") == "1"
	seq, err := Number(q, "from", 1)
	if err != nil {
		fail(w, err)
		return
	}
	seq = max(seq, 1)
	w.Header().Set("Content-Type", "application/x-ndjson") // fail sets another
	watcher := h.r.Watch()                                 // before the first look: nothing comes between
	defer watcher.Close()
	for started := false; ; started = true {
		lines, err := h.r.Lines(q.Context(), address, seq, 1000)
		switch {
		case err != nil && started:
			panic(http.ErrAbortHandler) // or the client would take it for the end
		case err != nil:
			fail(w, err)
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
	out, err := h.r.Trials.Output(q.Context(), q.FormValue("trial"), q.FormValue("round"))
	if err != nil {
		fail(w, err)
		return
	}
	defer func() { _ = out.Close() }() // only read
	plain(w)
	_, _ = io.Copy(w, out) // a reader that went away is nobody's problem
}

// logs streams the log of a trial's try, and with follow=1 goes on until the try is over.
func (h *handler) logs(w http.ResponseWriter, q *http.Request) {
	id, follow := q.FormValue("trial"), q.FormValue("follow") == "1"
	try, err := Number(q, "try", 0)
	if err != nil {
		fail(w, err)
		return
	}
	plain(w) // fail sets another type
	var offset int64
	watcher := h.r.Watch() // before the first look: nothing comes between
	defer watcher.Close()
	for {
		log, end, over, err := h.r.Trials.OpenLog(q.Context(), id, try, offset)
		switch {
		case errors.Is(err, os.ErrNotExist): // not yet
		case err != nil:
			fail(w, err)
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

// plain says that what follows is text that agents and tests wrote, and nothing else to a browser.
func plain(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
}
