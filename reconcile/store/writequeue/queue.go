package writequeue

import (
	"context"
	"slices"
	"sync"
)

// Queue lets one transaction write at a time, in the order in which they come, but for those that go first. The zero value
// is one in which nobody waits.
type Queue struct {
	mu     sync.Mutex
	busy   bool
	first  []chan struct{} // who waits; closed when it is their turn
	others []chan struct{}
}

type firstKey struct{}

// First returns a context whose transactions wait for none but the one that writes now: a thousand
// trials that use the store at once keep all others waiting for seconds, and whoever many wait for must not.
func First(ctx context.Context) context.Context { return context.WithValue(ctx, firstKey{}, true) }

// GoesFirst reports whether a context is one of First.
func GoesFirst(ctx context.Context) bool { return ctx.Value(firstKey{}) != nil }

// Enter waits for a turn to write. When the context ends its cause is returned.
func (w *Queue) Enter(ctx context.Context) error {
	w.mu.Lock()
	if !w.busy {
		w.busy = true
		w.mu.Unlock()
		return nil
	}
	line, turn := &w.others, make(chan struct{})
	if GoesFirst(ctx) {
		line = &w.first
	}
	*line = append(*line, turn)
	w.mu.Unlock()
	select {
	case <-turn:
		return nil
	case <-ctx.Done():
	}
	w.mu.Lock()
	i := slices.Index(*line, turn)
	if i >= 0 {
		*line = slices.Delete(*line, i, i+1)
	}
	w.mu.Unlock()
	if i < 0 { // it has just got its turn
		w.Leave()
	}
	return context.Cause(ctx)
}

// Leave gives the turn to the next one.
func (w *Queue) Leave() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, line := range []*[]chan struct{}{&w.first, &w.others} {
		if len(*line) > 0 {
			close((*line)[0])
			*line = (*line)[1:]
			return
		}
	}
	w.busy = false
}
