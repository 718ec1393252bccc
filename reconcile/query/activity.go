package query

import (
	"context"
	"time"

	"github.com/assayd/assayd/reconcile/hold"
	"github.com/assayd/assayd/reconcile/note"
	"github.com/assayd/assayd/reconcile/request"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/clock"
)

// ActivityInfo is something that somebody has asked for and got: what a record of type control says, or a login.
type ActivityInfo struct {
	N      int64     `json:"n"` // in their order
	Time   time.Time `json:"time"`
	Action string    `json:"action"`
	Target string    `json:"target,omitempty"` // absent = the pages themselves
	By     string    `json:"by"`
	Via    string    `json:"via"`
	Reason string    `json:"reason,omitempty"`
}

// ActivityBefore returns at most limit of what was asked for before the one numbered before, the latest first; 0 is before
// none.
func (r *Reader) ActivityBefore(ctx context.Context, before int64, limit int) (infos []ActivityInfo, err error) {
	err = r.o.Store.View(ctx, func(tx *store.Tx) error {
		rows, err := tx.ActivityBefore(before, limit)
		for _, x := range rows {
			if request.HidesContent(ctx) {
				x.Reason = "" // it may quote something
			}
			infos = append(infos, ActivityInfo{x.N, x.At, x.Action, x.Target, x.By, x.Via, x.Reason})
		}
		return err
	})
	return infos, err
}

// Holds returns the holds in force, by target and kind.
func (r *Reader) Holds(ctx context.Context) (set hold.Set, err error) {
	err = r.o.Store.View(ctx, func(tx *store.Tx) error {
		all, err := hold.Read(tx)
		now := clock.Now()
		for _, h := range all {
			if h.Until.IsZero() || now.Before(h.Until) {
				set = append(set, h)
			}
		}
		return err
	})
	return set, err
}

// NotesOf returns what users noted of a trial, a run, or a mining spec. Nothing is noted of what is not known.
func (r *Reader) NotesOf(ctx context.Context, target string) (set note.Set, err error) {
	err = r.o.Store.View(ctx, func(tx *store.Tx) error {
		set, err = note.For(ctx, tx, target)
		return err
	})
	return set, err
}
