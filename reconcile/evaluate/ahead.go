package evaluate

import (
	"context"
	"fmt"
	"sync"

	"github.com/assayd/assayd/runtime/trial"
)

// aheadAtOnce is of how many contents decoys are made at once before a verdict asks for them.
const aheadAtOnce = 2

// ahead holds the contents whose decoys are being made while agents work. The zero value has none.
type ahead struct {
	mu     sync.Mutex
	making map[string]bool // by execution and content
	slots  chan struct{}
}

// begin reports whether no one else makes those of a key. slots has a place for each that is made
// at once.
func (a *ahead) begin(key string) (slots chan struct{}, first bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.making == nil {
		a.making, a.slots = map[string]bool{}, make(chan struct{}, aheadAtOnce)
	}
	if a.making[key] {
		return nil, false
	}
	a.making[key] = true
	return a.slots, true
}

func (a *ahead) end(key string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.making, key)
}

// Foresee is trial.Host.Foresee. What fails here is tried again by the verdict. It ends with the
// daemon, and then the next daemon's trials ask again.
func (r *Evaluator) Foresee(s trial.State, of func(context.Context) (trial.Subject, error)) {
	key := pinnedDecoysKey(s)
	slots, first := r.ahead.begin(key)
	if !first {
		return
	}
	r.o.Go(func(ctx context.Context) {
		defer r.ahead.end(key)
		select {
		case slots <- struct{}{}:
			defer func() { <-slots }()
		case <-ctx.Done():
			return
		}
		if err := r.makeAhead(ctx, key, of); err != nil && ctx.Err() == nil {
			r.o.Log.Info("decoys could not be made ahead: the verdict asks again", "trial", s.ID, "error", err)
		}
	})
}

// makeAhead makes the decoys of a content, unless the execution has them.
func (r *Evaluator) makeAhead(ctx context.Context, key string, of func(context.Context) (trial.Subject, error)) error {
	var known pinnedDecoys
	if found, err := r.recall(ctx, key, &known); err != nil || found {
		return err
	}
	subject, err := of(ctx)
	if err != nil {
		return fmt.Errorf("find what decoys are made for: %w", err)
	}
	_, err = r.Decoys(ctx, subject)
	return err
}
