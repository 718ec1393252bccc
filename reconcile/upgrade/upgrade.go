package upgrade

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/assayd/assayd/reconcile/history"
	"github.com/assayd/assayd/reconcile/store"
)

// Options are what an Upgrade is made of.
type Options struct {
	Store     *store.Store
	Log       *slog.Logger
	Heartbeat func() // is called after each part of what may take long
}

// Upgrade brings a store up to date that an earlier version wrote. MarkFormer, Rekey, and FillOpen come before
// anything else, in this order. FillCells goes on beside all else, in a goroutine of its own.
type Upgrade struct {
	AtOnce int                   // trials for which FillCells makes cells in one transaction
	After  func(context.Context) // called after each of these transactions, by tests; nil = nothing
	o      Options
}

// New returns an upgrade that has not begun.
func New(o Options) *Upgrade { return &Upgrade{AtOnce: 100, o: o} }

// FillOpen makes the cells of open trials that an earlier version stored: before any of them goes on.
func (u *Upgrade) FillOpen(ctx context.Context) error {
	return u.o.Store.Do(ctx, func(tx *store.Tx) error {
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

// Rekey gives the trials of the first version the keys that their cells have today, some at a time.
func (u *Upgrade) Rekey(ctx context.Context) error {
	more, last := true, ""
	for more {
		if err := u.o.Store.Do(ctx, func(tx *store.Tx) error {
			done, err := history.Rekeyed(tx)
			if more = err == nil && !done; more {
				last, err = history.Rekey(tx, last)
			}
			return err
		}); err != nil {
			return err
		}
		u.o.Heartbeat()
	}
	return nil
}

// FillCells makes the cells of the trials that an earlier version stored, some at a time, while all
// else goes on. A daemon that ends before goes on where the last one stopped.
func (u *Upgrade) FillCells(ctx context.Context) {
	for more := true; more && ctx.Err() == nil; {
		err := u.o.Store.Do(ctx, func(tx *store.Tx) error {
			filled, err := tx.Meta(history.FilledKey)
			if more = err == nil && filled != history.FilledAll; !more {
				return err
			}
			rows, err := tx.TrialsAfter(filled, u.AtOnce)
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
			u.o.Log.Error("read the trials of an earlier version; until this is mended, lists lack some of them", "error", err)
			return
		}
		if u.After != nil {
			u.After(ctx)
		}
	}
}

// MarkFormer marks the trials that edits replaced under an earlier version, once, an execution
// a transaction.
func (u *Upgrade) MarkFormer(ctx context.Context) error {
	var executions []store.ExecutionRow
	done := false
	err := u.o.Store.View(ctx, func(tx *store.Tx) error {
		marked, err := tx.Meta(history.MarkedKey)
		if done = marked != ""; done || err != nil {
			return err
		}
		executions, err = tx.AllExecutions()
		return err
	})
	if done || err != nil {
		return err
	}
	for _, e := range executions {
		if err := u.o.Store.Do(ctx, func(tx *store.Tx) error { return history.MarkFormer(tx, e) }); err != nil {
			return fmt.Errorf("mark the superseded trials of %s e%d: %w", e.Spec, e.N, err)
		}
	}
	return u.o.Store.Do(ctx, func(tx *store.Tx) error { return tx.PutMeta(history.MarkedKey, "1") })
}
