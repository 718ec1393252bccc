package note

import (
	"context"
	"regexp"
	"time"

	"github.com/assayd/assayd/reconcile/request"
	"github.com/assayd/assayd/reconcile/store"
)

// Bounds of what a target bears.
const (
	MaxNotes = 100
	MaxText  = 1000 // bytes of a note
	MaxTags  = 20
)

// tagged is what a tag may be: it is typed, filtered by, and part of addresses of pages.
var tagged = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:-]{0,39}$`)

// IsTag reports whether a text may be a tag.
func IsTag(text string) bool { return tagged.MatchString(text) }

// Note is a line of text that a user has left.
type Note struct {
	Text string    `json:"text"`
	By   string    `json:"by"`
	Via  string    `json:"via"` // cli, page, api
	At   time.Time `json:"at"`
}

// Set is what a target bears. Both are absent where there is none.
type Set struct {
	Notes []Note   `json:"notes,omitempty"` // the oldest first
	Tags  []string `json:"tags,omitempty"`  // in the order of the alphabet
}

// Of returns what a target bears.
func Of(tx *store.Tx, target string) (s Set, err error) {
	rows, err := tx.Notes(target)
	if err != nil {
		return s, err
	}
	for _, n := range rows {
		s.Notes = append(s.Notes, Note{n.Text, n.By, n.Via, n.At})
	}
	s.Tags, err = tx.Tags(target)
	return s, err
}

// For is Of for the caller of the context. A caller who may not see content gets the tags alone: a note may quote something.
func For(ctx context.Context, tx *store.Tx, target string) (Set, error) {
	set, err := Of(tx, target)
	if request.HidesContent(ctx) {
		set.Notes = nil
	}
	return set, err
}
