package api

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
)

// Patch asks what a trial has changed. A process that has no engine for XX
func (c *Client) Patch(ctx context.Context, trial string) (diff []byte, err error) {
	stream, err := c.stream(ctx, "/v1/patch?trial="+url.QueryEscape(trial))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, stream.Close()) }()
	return io.ReadAll(stream)
}

func (h *handler) patch(w http.ResponseWriter, q *http.Request) {
	diff, err := h.r.Patch(q.Context(), q.FormValue("trial"))
	if err != nil {
		fail(w, err)
		return
	}
	w.Header().Set("Content-Type", "text/x-diff")
	_, _ = w.Write(diff) // a reader that went away is nobody's problem
}
