package query

import (
	"context"

	"github.com/assayd/assayd/reconcile/note"
	"github.com/assayd/assayd/reconcile/store"
)

// NotesOf returns what users noted of a trial, a run, or a mining spec. Nothing is noted of what is not known.
func (r *Reader) NotesOf(ctx context.Context, target string) (set note.Set, err error) {
	err = r.o.Store.View(ctx, func(tx *store.Tx) error {
		set, err = note.For(ctx, tx, target)
		return err
	})
	return set, err
}
