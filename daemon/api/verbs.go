package api

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"github.com/assayd/assayd/reconcile/control"
)

// Stop makes the time of a trial's agent be over now.
func (c *Client) Stop(ctx context.Context, a control.Ask) (out control.Changed, err error) {
	id := a.Target
	a.Target = ""
	return out, c.call(ctx, http.MethodPost, "/v1/trials/"+url.PathEscape(id)+"/stop", a, &out)
}

// Extend moves the deadline of a trial's agent to a later time.
func (c *Client) Extend(ctx context.Context, m control.MoreTime) (out control.Changed, err error) {
	id := m.Target
	m.Target = ""
	return out, c.call(ctx, http.MethodPost, "/v1/trials/"+url.PathEscape(id)+"/extend", m, &out)
}

// Cancel ends a run's execution, a trial, or the work for a mining spec.
func (c *Client) Cancel(ctx context.Context, a control.Ask) (out control.Changed, err error) {
	q := url.Values{"name": {a.Target}}
	if a.Reason != "" {
		q.Set("reason", a.Reason)
	}
	if a.DryRun {
		q.Set("dry_run", "1")
	}
	return out, c.call(ctx, http.MethodPost, "/v1/cancel?"+q.Encode(), nil, &out)
}

// askOf reads a verb about the trial that the path names, or about everything. An empty body has no reason.
func askOf(w http.ResponseWriter, q *http.Request) (a control.Ask, err error) {
	if q.ContentLength != 0 {
		err = readBody(w, q, &a)
	}
	return a, errors.Join(err, ofPath(q, &a))
}

// ofPath takes what a verb is about from the path.
func ofPath(q *http.Request, a *control.Ask) error {
	said := a.Target
	if a.Target = q.PathValue("trial"); said != "" {
		return invalidf("target is of the path here: leave it out of the body")
	}
	return nil
}

func (h *handler) extend(w http.ResponseWriter, q *http.Request) {
	var m control.MoreTime
	err := readBody(w, q, &m)
	if err = errors.Join(err, ofPath(q, &m.Ask)); err != nil {
		fail(w, err)
		return
	}
	c, err := h.r.ExtendTrial(asked(q), m)
	answer(w, c, err)
}

func (h *handler) stop(w http.ResponseWriter, q *http.Request) {
	a, err := askOf(w, q)
	if err != nil {
		fail(w, err)
		return
	}
	c, err := h.r.StopTrial(asked(q), a)
	answer(w, c, err)
}

func (h *handler) cancel(w http.ResponseWriter, q *http.Request) {
	c, err := h.r.Cancel(asked(q), control.Ask{Target: q.FormValue("name"), Reason: q.FormValue("reason"), DryRun: q.FormValue("dry_run") != ""})
	answer(w, c, err)
}

// Drain pauses everything, and ends a process that was started to drain when nothing works any more.
func (c *Client) Drain(ctx context.Context, a control.Ask) (out control.Changed, err error) {
	return out, c.call(ctx, http.MethodPost, "/v1/drain", a, &out)
}

func (h *handler) drain(w http.ResponseWriter, q *http.Request) {
	a, err := askOf(w, q)
	if err != nil {
		fail(w, err)
		return
	}
	c, err := h.r.Desk.Drain(asked(q), a)
	answer(w, c, err)
}
