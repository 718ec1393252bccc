package query

import (
	"context"

	"github.com/assayd/assayd/reconcile/hold"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/clock"
)

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
