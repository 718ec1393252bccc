package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile/evaluate"
)

// Evaluated answers POST /v1/eval, whose body is the archive: the outcome, or what is
// wrong with the spec files that were named.
type Evaluated struct {
	evaluate.Evaluated
	Assayd      string             `json:"assayd"` // version of who judged
	Diagnostics config.Diagnostics `json:"diagnostics"`
}

// Eval has an archive judged outside any trial and waits for the verdict. What the asker
// must mend is an *Error with a code from 400 to 499.
func (c *Client) Eval(ctx context.Context, e evaluate.Evaluation) (out Evaluated, err error) {
	q := url.Values{"task": {e.Task}, "trial": {e.Trial}, "round": {e.Round}, "file": e.Files}
	if e.Private {
		q.Set("private", "1")
	}
	if e.Decides {
		q.Set("decides", "1")
	}
	body := e.Archive
	if e.Patch != nil {
		q.Set("patch", "1")
		body = bytes.NewReader(e.Patch)
	}
	if body == nil {
		body = strings.NewReader("")
	}
	answer, err := c.do(ctx, http.MethodPost, "/v1/eval?"+q.Encode(), body)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, answer.Close()) }()
	if err := json.NewDecoder(answer).Decode(&out); err != nil {
		return out, fmt.Errorf("read the daemon's answer: %w", err)
	}
	return out, nil
}

// maxPatch bounds a patch that is to be judged.
const maxPatch = 64 << 20

// eval judges what the request holds. An archive that is refused is answered before it is
// read to its end.
func (h *handler) eval(w http.ResponseWriter, q *http.Request) {
	control := http.NewResponseController(w)
	_ = control.EnableFullDuplex() // without it, an answer waits for the rest of the archive
	at := q.URL.Query()
	ask := evaluate.Evaluation{
		Task: at.Get("task"), Files: at["file"], Trial: at.Get("trial"), Round: at.Get("round"), Archive: q.Body,
		Private: at.Get("private") == "1", Decides: at.Get("decides") == "1",
	}
	if at.Get("patch") == "1" {
		var err error
		if ask.Patch, err = io.ReadAll(http.MaxBytesReader(w, q.Body, maxPatch)); err != nil {
			fail(w, fmt.Errorf("read the patch: %w", err))
			return
		}
	}
	done, ds, err := h.r.Evaluate(q.Context(), ask)
	answer(w, Evaluated{done, h.version, append(config.Diagnostics{}, ds...)}, err)
	if control.Flush() == nil { // the client hangs up once it has the answer
		_, _ = io.Copy(io.Discard, q.Body)
	}
}
