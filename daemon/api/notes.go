package api

import (
	"context"
	"net/http"

	"github.com/assayd/assayd/reconcile/control"
	"github.com/assayd/assayd/reconcile/note"
)

// Notes answers GET /v1/notes.
type Notes struct {
	Target string `json:"target"`
	note.Set
}

// Note adds a note or a tag, or removes a tag.
func (c *Client) Note(ctx context.Context, a control.Noted) (out control.Changed, err error) {
	return out, c.call(ctx, http.MethodPost, "/v1/notes", a, &out)
}

func (h *handler) notes(w http.ResponseWriter, q *http.Request) {
	target := q.FormValue("target")
	if target == "" {
		fail(w, invalidf("target is missing: a trial, a run, or a mining spec"))
		return
	}
	set, err := h.r.NotesOf(q.Context(), target)
	answer(w, Notes{target, set}, err)
}

func (h *handler) note(w http.ResponseWriter, q *http.Request) {
	var a control.Noted
	err := readBody(w, q, &a)
	if err != nil {
		fail(w, err)
		return
	}
	c, err := h.r.Notes.Put(asked(q), a)
	answer(w, c, err)
}
