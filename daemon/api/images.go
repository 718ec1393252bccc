package api

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile/retention"
	"github.com/assayd/assayd/reconcile/taskcheck"
)

// imageLine is one line of the answer to POST /v1/images: an image, or the end.
type imageLine struct {
	Image *taskcheck.ImageDone `json:"image,omitempty"`
	End   *imagesEnd           `json:"end,omitempty"`
}

type imagesEnd struct {
	Diagnostics config.Diagnostics `json:"diagnostics"`
	Code        int                `json:"code,omitempty"` // as of an HTTP answer, with Kind and Error
	Kind        Kind               `json:"kind,omitempty"`
	Error       string             `json:"error,omitempty"`
}

// Images has something done with the images of tasks and tells of each when it is done.
// What the asker must mend is an *Error with a code from 400 to 499.
func (c *Client) Images(ctx context.Context, w taskcheck.ImageWork, tell func(taskcheck.ImageDone)) (ds config.Diagnostics, err error) {
	body, err := json.Marshal(w)
	if err != nil {
		return nil, err
	}
	stream, err := c.do(ctx, http.MethodPost, "/v1/images", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, stream.Close()) }()
	for lines := json.NewDecoder(stream); ; {
		var l imageLine
		if err := lines.Decode(&l); err != nil {
			return nil, fmt.Errorf("read the daemon's answer: %w", err)
		}
		if l.Image != nil {
			tell(*l.Image)
		}
		if l.End != nil && l.End.Error != "" {
			return l.End.Diagnostics, &Error{l.End.Code, cmp.Or(l.End.Kind, kindOf(l.End.Code)), l.End.Error}
		}
		if l.End != nil {
			return l.End.Diagnostics, nil
		}
	}
}

// Collect has what nobody needs removed.
func (c *Client) Collect(ctx context.Context, s retention.Sweep) (out retention.Swept, err error) {
	return out, c.call(ctx, http.MethodPost, "/v1/collect", s, &out)
}

func (h *handler) images(w http.ResponseWriter, q *http.Request) {
	var work taskcheck.ImageWork
	if err := readBody(w, q, &work); err != nil {
		fail(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	enc, control := json.NewEncoder(w), http.NewResponseController(w)
	write := func(l imageLine) { // a reader that went away ends the request's context
		if enc.Encode(l) == nil {
			_ = control.Flush()
		}
	}
	ds, err := h.r.Images(q.Context(), work, func(d taskcheck.ImageDone) { write(imageLine{Image: &d}) })
	end := imagesEnd{Diagnostics: append(config.Diagnostics{}, ds...)}
	if err != nil {
		end.Code, end.Kind = classify(err)
		end.Error = err.Error()
	}
	write(imageLine{End: &end})
}

func (h *handler) collect(w http.ResponseWriter, q *http.Request) {
	var s retention.Sweep
	if err := readBody(w, q, &s); err != nil {
		fail(w, err)
		return
	}
	out, err := h.r.Retention.Collect(q.Context(), s)
	answer(w, out, err)
}
