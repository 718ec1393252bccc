package api

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile/taskcheck"
)

// Checked answers POST /v1/check: what a task's check has found, or what is wrong with the
// spec files that were named.
type Checked struct {
	taskcheck.Checked
	Assayd      string             `json:"assayd"` // version of who checked
	Diagnostics config.Diagnostics `json:"diagnostics"`
}

// Check has one task checked and waits for the outcome. What the asker must mend is an
// *Error with a code from 400 to 499.
func (c *Client) Check(ctx context.Context, k taskcheck.Check) (out Checked, err error) {
	q := url.Values{"task": {k.Task}, "file": k.Files, "repeat": {strconv.Itoa(k.Repeat)}}
	if k.Rater != nil {
		q.Set("quality", "1")
		q.Set("provider", k.Rater.Provider)
		q.Set("model", k.Rater.Model)
	}
	return out, c.call(ctx, http.MethodPost, "/v1/check?"+q.Encode(), nil, &out)
}

// check checks the task that the request names, for as long as the asker waits.
func (h *handler) check(w http.ResponseWriter, q *http.Request) {
	repeat, err := Number(q, "repeat", 0) // none is the default
	if err != nil {
		fail(w, err)
		return
	}
	at := q.URL.Query()
	ask := taskcheck.Check{Task: at.Get("task"), Files: at["file"], Repeat: min(repeat, maxRepeat)}
	if at.Get("quality") == "1" {
		ask.Rater = &taskcheck.Rater{Provider: at.Get("provider"), Model: at.Get("model")}
	}
	done, ds, err := h.r.CheckTask(q.Context(), ask)
	answer(w, Checked{done, h.version, append(config.Diagnostics{}, ds...)}, err)
}

// maxRepeat bounds how often one request has the same tree judged.
const maxRepeat = 1000
