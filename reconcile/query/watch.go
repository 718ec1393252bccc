package query

import (
	"context"

	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/reconcile/store/change"
)

// Watch hears of everything that changes from now on; its Close ends that.
func (r *Reader) Watch() *change.Watcher { return r.o.Store.Watch() }

// manyTouched is how many topics are told to who was away; of more, all may have changed.
const manyTouched = 500

// TouchedSince tells what has changed after change n. It fails with store.ErrNotFound where n is of
// no change of this state directory.
func (r *Reader) TouchedSince(ctx context.Context, n int64) (touched change.Touched, err error) {
	err = r.o.Store.View(ctx, func(tx *store.Tx) error {
		touched, err = tx.TouchedSince(n, manyTouched)
		return err
	})
	return touched, err
}

// Changes is the number of the last change.
func (r *Reader) Changes(ctx context.Context) (n int64, err error) {
	err = r.o.Store.View(ctx, func(tx *store.Tx) error {
		n, err = tx.Last()
		return err
	})
	return n, err
}

// Owner is the id of the state directory.
func (r *Reader) Owner() string { return r.o.Store.Owner() }
