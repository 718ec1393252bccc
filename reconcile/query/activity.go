package query

import (
	"context"
	"time"

	"github.com/assayd/assayd/reconcile/request"
	"github.com/assayd/assayd/reconcile/store"
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
