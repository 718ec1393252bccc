package api

import (
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/assayd/assayd/reconcile/query/trialview"
)

func (h *handler) files(w http.ResponseWriter, q *http.Request) {
	servePage(w, q, func(f trialview.FileInfo) int { return f.N },
		func(ctx context.Context, after, n int) ([]trialview.FileInfo, error) {
			return h.r.Trials.Files(ctx, q.PathValue("trial"), after, n)
		})
}

// file answers with a file of a trial, which no browser shows: an agent, or a test, has written it.
func (h *handler) file(w http.ResponseWriter, q *http.Request) {
	f, file, err := h.r.Trials.OpenFile(q.Context(), q.PathValue("trial"), q.PathValue("file"))
	if err != nil {
		fail(w, err)
		return
	}
	defer func() { _ = file.Close() }()
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": q.PathValue("trial") + "." + f.Name}))
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if f.SHA256 != "" {
		w.Header().Set("ETag", strconv.Quote(f.SHA256))
	}
	if at, ok := file.(io.ReadSeeker); ok && f.SHA256 != "" { // it changes no more: a part of it may be asked for
		http.ServeContent(w, q, "", time.Time{}, at)
		return
	}
	_, _ = io.Copy(w, io.LimitReader(file, f.Bytes)) // a reader that went away needs no answer
}

func (h *handler) spending(w http.ResponseWriter, q *http.Request) {
	s, err := h.r.Spending(q.Context())
	answer(w, s, err)
}

// Patch asks for the changes of a trial, as a unified diff. A process that has no container engine cannot tell them.
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
