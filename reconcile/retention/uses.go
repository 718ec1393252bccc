package retention

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/assayd/assayd/reconcile/store"
)

func usedKey(ref string) string { return "image-used/" + ref }

// noteEvery is how exactly the last use of an image is known.
const noteEvery = time.Minute

// Uses remembers when images were last asked for.
type Uses struct {
	store *store.Store
	log   *slog.Logger
	mu    sync.Mutex
	noted map[string]time.Time
}

// NewUses returns the memory that a state directory has.
func NewUses(s *store.Store, log *slog.Logger) *Uses {
	return &Uses{store: s, log: log, noted: map[string]time.Time{}}
}

// Note says that an image is used now.
func (u *Uses) Note(ctx context.Context, ref string) {
	now := time.Now().UTC()
	u.mu.Lock()
	known := now.Sub(u.noted[ref]) < noteEvery
	if !known {
		u.noted[ref] = now
	}
	u.mu.Unlock()
	if known {
		return
	}
	err := u.store.Do(ctx, func(tx *store.Tx) error { return tx.PutMeta(usedKey(ref), now.Format(time.RFC3339)) })
	if err != nil && ctx.Err() == nil {
		u.log.Warn("remember the use of an image", "image", ref, "error", err)
	}
}
