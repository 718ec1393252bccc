package api

import (
	"context"
	"net/http"
	"net/url"

	"github.com/assayd/assayd/reconcile/summary"
)

// Report asks what an execution of a run has come to, in numbers.
func (c *Client) Report(ctx context.Context, run string) (r summary.Report, err error) {
	return r, c.call(ctx, http.MethodGet, "/v1/report?run="+url.QueryEscape(run), nil, &r)
}

// Compare asks how two executions compare: agents of the same name, or the named ones.
func (c *Client) Compare(ctx context.Context, a, b string, agents []string) (r summary.Compared, err error) {
	q := url.Values{"a": {a}, "b": {b}, "agent": agents}
	return r, c.call(ctx, http.MethodGet, "/v1/compare?"+q.Encode(), nil, &r)
}

func (h *handler) report(w http.ResponseWriter, q *http.Request) {
	r, err := h.r.Summaries.Report(q.Context(), q.FormValue("run"))
	answer(w, r, err)
}

func (h *handler) compare(w http.ResponseWriter, q *http.Request) {
	c, err := h.r.Summaries.Compare(q.Context(), q.FormValue("a"), q.FormValue("b"), q.Form["agent"])
	answer(w, c, err)
}
