package query

import (
	"context"

	"github.com/assayd/assayd/reconcile/note"
	"github.com/assayd/assayd/reconcile/store"
)

// NotesOf returns what users noted of a trial, a run, or a mining spec. Nothing is noted of what is not known.
func (r *Reader) NotesOf(ctx context.Context, target string) (set note.Set, err error) {
	err = r.o.Store.View(ctx, func(tx *store.Tx) error {
		set, err = noted(ctx, tx, target)
		return err
	})
	return set, err
}

// noted is what users noted of a target. Who is to see no content has the tags alone: a note may quote something.
func noted(ctx context.Context, tx *store.Tx, target string) (note.Set, error) {
	set, err := note.Of(tx, target)
	if HidesContent(ctx) {
		set.Notes = nil
	}
	return set, err
}
