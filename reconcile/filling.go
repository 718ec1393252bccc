package reconcile

import (
	"context"
	"errors"

	"github.com/assayd/assayd/reconcile/history"
	"github.com/assayd/assayd/reconcile/store"
)

// filling is how trials of an earlier version get their cells.
type filling struct {
	atOnce int                   // trials in one transaction
	after  func(context.Context) // called after each transaction, by tests; nil = nothing
}

// atOnceFilled is filling.atOnce of a daemon.
const atOnceFilled = 100

// fillOpen makes the cells of open trials that an earlier version stored: before any of them goes on.
func (r *Reconciler) fillOpen(ctx context.Context) error {
	return r.o.Store.Do(ctx, func(tx *store.Tx) error {
		filled, err := tx.Meta(history.FilledKey)
		if err != nil || filled != "" {
			return err
		}
		if rows, err := tx.TrialsAfter("", 1); err != nil || len(rows) == 0 {
			return errors.Join(err, tx.PutMeta(history.FilledKey, history.FilledAll))
		}
		rows, err := tx.OpenTrials()
		if err != nil {
			return err
		}
		return history.FillCells(tx, rows)
	})
}

// rekey gives the trials of the first version the keys that their cells have today, some at a time.
func rekey(r *Reconciler) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		more, last := true, ""
		for more {
			if err := r.o.Store.Do(ctx, func(tx *store.Tx) error {
				done, err := history.Rekeyed(tx)
				if more = err == nil && !done; more {
					last, err = history.Rekey(tx, last)
				}
				return err
			}); err != nil {
				return err
			}
			r.Heartbeat()
		}
		return nil
	}
}

// fillCells makes the cells of the trials that an earlier version stored, some at a time, while all
// else goes on. A daemon that ends before goes on where the last one stopped.
func (r *Reconciler) fillCells(ctx context.Context) {
	for more := true; more && ctx.Err() == nil; {
		err := r.o.Store.Do(ctx, func(tx *store.Tx) error {
			filled, err := tx.Meta(history.FilledKey)
			if more = err == nil && filled != history.FilledAll; !more {
				return err
			}
			rows, err := tx.TrialsAfter(filled, r.filling.atOnce)
			if err != nil {
				return err
			}
			if len(rows) == 0 {
				return tx.PutMeta(history.FilledKey, history.FilledAll)
			}
			if err := history.FillCells(tx, rows); err != nil {
				return err
			}
			return tx.PutMeta(history.FilledKey, rows[len(rows)-1].ID)
		})
		if err != nil && ctx.Err() == nil {
			r.o.Log.Error("read the trials of an earlier version; until this is mended, lists lack some of them", "error", err)
			return
		}
		if r.filling.after != nil {
			r.filling.after(ctx)
		}
	}
}
