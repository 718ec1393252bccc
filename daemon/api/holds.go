package api

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/assayd/assayd/reconcile/control"
	"github.com/assayd/assayd/reconcile/hold"
)

// Holds answers GET /v1/holds.
type Holds struct {
	Holds hold.Set `json:"holds"` // by target and kind
}

// agent is how the command line names itself, so that records tell it from other programs.
const agent = "assayd"

// asked is the context of what a request asks for: who does, and by which way.
func asked(q *http.Request) context.Context {
	who := control.Of(q.Context())
	if who.Via == control.Socket {
		if who.Via = control.API; q.UserAgent() == agent {
			who.Via = control.CLI
		}
	}
	return control.As(q.Context(), who)
}

// Hold pauses or throttles a target.
func (c *Client) Hold(ctx context.Context, a control.Asked) (out control.Changed, err error) {
	return out, c.call(ctx, http.MethodPost, "/v1/holds", a, &out)
}

// Lift lifts the hold of a kind that a target has.
func (c *Client) Lift(ctx context.Context, target string, kind hold.Kind, dry bool) (out control.Changed, err error) {
	q := url.Values{"kind": {string(kind)}}
	if dry {
		q.Set("dry_run", "1")
	}
	return out, c.call(ctx, http.MethodDelete, "/v1/holds/"+url.PathEscape(target)+"?"+q.Encode(), nil, &out)
}

func (h *handler) holds(w http.ResponseWriter, q *http.Request) {
	set, err := h.r.Holds(q.Context())
	if set == nil {
		set = hold.Set{}
	}
	answer(w, Holds{set}, err)
}

func (h *handler) hold(w http.ResponseWriter, q *http.Request) {
	var a control.Asked
	err := readBody(w, q, &a)
	if err == nil && strings.TrimSpace(a.Target) == "" {
		err = invalidf("target is missing: all, a run, a mining spec, or provider.NAME")
	}
	if err != nil {
		fail(w, err)
		return
	}
	c, err := h.r.Desk.Hold(asked(q), a)
	answer(w, c, err)
}

func (h *handler) lift(w http.ResponseWriter, q *http.Request) {
	kind := hold.Kind(q.FormValue("kind"))
	switch kind {
	case "":
		kind = hold.Pause
	case hold.Pause, hold.Throttle:
	default:
		fail(w, invalidf("kind=%q: a hold is %s or %s", kind, hold.Pause, hold.Throttle))
		return
	}
	c, err := h.r.Desk.Lift(asked(q), q.PathValue("target"), kind, q.FormValue("dry_run") != "")
	answer(w, c, err)
}
