package api

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/assayd/assayd/reconcile/query"
)

// fetchLine is one line of the answer to POST /v1/fetch: how far it is, or the end.
type fetchLine struct {
	Fetch *query.Fetch `json:"fetch,omitempty"`
	End   bool         `json:"end,omitempty"`
	Code  int          `json:"code,omitempty"` // as of an HTTP answer, with Kind and Error
	Kind  Kind         `json:"kind,omitempty"`
	Error string       `json:"error,omitempty"`
}

// Fetch has the datasets come that spec files name and that lie elsewhere, and tells how far
// it is. What cannot be had is told when the files are handed in.
func (c *Client) Fetch(ctx context.Context, paths []string, tell func(query.Fetch)) (err error) {
	body, err := json.Marshal(Files{paths})
	if err != nil {
		return err
	}
	stream, err := c.do(ctx, http.MethodPost, "/v1/fetch", bytes.NewReader(body))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stream.Close()) }()
	for lines := json.NewDecoder(stream); ; {
		var l fetchLine
		if err := lines.Decode(&l); err != nil {
			return fmt.Errorf("read the daemon's answer: %w", err)
		}
		switch {
		case l.Fetch != nil:
			tell(*l.Fetch)
		case l.Error != "":
			return &Error{cmp.Or(l.Code, http.StatusBadRequest), cmp.Or(l.Kind, Invalid), l.Error}
		case l.End:
			return nil
		}
	}
}

func (h *handler) fetch(w http.ResponseWriter, q *http.Request) {
	var f Files
	if err := readBody(w, q, &f); err != nil {
		fail(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	told := &fetchTold{enc: json.NewEncoder(w), control: http.NewResponseController(w)}
	end := fetchLine{End: true}
	if err := h.r.Fetch(q.Context(), f.Paths, told.tell); err != nil {
		end.Code, end.Kind = classify(err)
		end.Error = err.Error()
	}
	told.write(end)
}

// fetchTold writes lines, and of how far it is not more than anybody can read.
type fetchTold struct {
	mu      sync.Mutex
	enc     *json.Encoder
	control *http.ResponseController
	last    time.Time
}

func (t *fetchTold) tell(f query.Fetch) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !f.Over && time.Since(t.last) < poll {
		return
	}
	t.last = time.Now()
	t.write(fetchLine{Fetch: &f})
}

func (t *fetchTold) write(l fetchLine) { // a reader that went away ends the request's context
	if t.enc.Encode(l) == nil {
		_ = t.control.Flush()
	}
}
