package pinned

import (
	"context"
	"sync"

	"github.com/assayd/assayd/reconcile/history"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/trial"
)

// Images knows what names of images mean in executions. What it is asked for often, it has in memory: every trial asks.
// Any goroutine may use it.
type Images struct {
	store *store.Store

	mu        sync.Mutex
	known     map[string]string // ids by key of the store
	forgotten int               // how often something was: an id that was read before may be another one now
}

// maxKnown bounds what is in memory: beyond it, all of that is asked for once more.
const maxKnown = 20_000

// NewImages returns what knows the images of the executions in a store.
func NewImages(s *store.Store) *Images { return &Images{store: s, known: map[string]string{}} }

// Image is trial.Host.Pin: what an image's name means in an execution is asked once and kept.
func (i *Images) Image(ctx context.Context, s trial.State, ref string, resolve func() (string, error)) (id string, err error) {
	key := history.PinKey(s.Spec, s.Execution, ref)
	i.mu.Lock()
	id = i.known[key]
	forgotten := i.forgotten
	i.mu.Unlock()
	if id != "" {
		return id, nil
	}
	if id, err = i.kept(ctx, key, resolve); err != nil {
		return "", err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if len(i.known) >= maxKnown {
		clear(i.known)
	}
	if i.forgotten == forgotten {
		i.known[key] = id
	}
	return id, nil
}

// Forget has what names of images mean asked for once more, after it was taken out of the store.
func (i *Images) Forget() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.forgotten++
	clear(i.known)
}

// kept reads an id from the store. What is not there is asked for and stored.
func (i *Images) kept(ctx context.Context, key string, resolve func() (string, error)) (id string, err error) {
	err = i.store.View(ctx, func(tx *store.Tx) error {
		id, err = tx.Meta(key)
		return err
	})
	if err != nil || id != "" {
		return id, err
	}
	if id, err = resolve(); err != nil {
		return "", err
	}
	err = i.store.Do(ctx, func(tx *store.Tx) error {
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
