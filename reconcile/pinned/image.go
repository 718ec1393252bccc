package pinned

import (
	"context"

	"github.com/assayd/assayd/reconcile/history"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/trial"
)

// Image is trial.Host.Pin: what an image's name means in an execution is asked once and kept.
func Image(ctx context.Context, books *store.Store, s trial.State, ref string, resolve func() (string, error)) (id string, err error) {
	key := history.PinKey(s.Spec, s.Execution, ref)
	err = books.View(ctx, func(tx *store.Tx) error {
		id, err = tx.Meta(key)
		return err
	})
	if err != nil || id != "" {
		return id, err
	}
	if id, err = resolve(); err != nil {
		return "", err
	}
	err = books.Do(ctx, func(tx *store.Tx) error {
		first, err := tx.Meta(key)
		if err != nil {
			return err
		}
		if first != "" { // another trial was faster
			id = first
			return nil
		}
		return tx.PutMeta(key, id)
	})
	return id, err
}
