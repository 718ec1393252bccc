package store

import (
	"context"
	"slices"
	"sync"
)

// writers lets one transaction write at a time, in the order in which they come, but for those that
// go first.
type writers struct {
	mu     sync.Mutex
	busy   bool
	first  []chan struct{} // who waits; closed when it is their turn
	others []chan struct{}
}

type firstKey struct{}

// First returns a context whose transactions wait for none but the one that writes now: a thousand
// trials that use the store at once keep all others waiting for seconds, and whoever many wait for must not.
func First(ctx context.Context) context.Context { return context.WithValue(ctx, firstKey{}, true) }

func first(ctx context.Context) bool { return ctx.Value(firstKey{}) != nil }

// enter waits for a turn to write. When the context ends its cause is returned.
func (w *writers) enter(ctx context.Context) error {
	w.mu.Lock()
	if !w.busy {
		w.busy = true
		w.mu.Unlock()
		return nil
	}
	line, turn := &w.others, make(chan struct{})
	if first(ctx) {
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
		w.leave()
	}
	return context.Cause(ctx)
}

// leave gives the turn to the next one.
func (w *writers) leave() {
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
