package api

import (
	"context"
	"net/http"
	"net/url"

	"github.com/assayd/assayd/runtime/task/sweforge"
)

// Harness is what a harness says of a run in single mode; Summary is nil for other runs.
type Harness struct {
	Summary *sweforge.Summary `json:"summary"`
}

// Harness asks what swe-forge's harness would say of the latest execution of a run.
func (c *Client) Harness(ctx context.Context, run string) (h Harness, err error) {
	return h, c.call(ctx, http.MethodGet, "/v1/harness?run="+url.QueryEscape(run), nil, &h)
}

func (h *handler) harness(w http.ResponseWriter, q *http.Request) {
	summary, ok, err := h.r.Foreign.Harness(q.Context(), q.FormValue("run"))
	out := Harness{}
	if ok {
		out.Summary = &summary
	}
	answer(w, out, err)
}
