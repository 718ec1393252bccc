package retention

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"
)

// orphans are containers that whoever made them could not remove, because the engine was
// away. They are removed when it is back: a daemon lives for months, and until the next one
// sweeps they would keep the machine's memory.
type orphans struct {
	remove func(ctx context.Context, id string) error
	wake   chan struct{} // holds one value while there may be something to do

	mu  sync.Mutex
	ids map[string]bool
}

func newOrphans(remove func(ctx context.Context, id string) error) *orphans {
	return &orphans{remove: remove, wake: make(chan struct{}, 1), ids: map[string]bool{}}
}

// Leave has a container removed as soon as the engine can, by its id or by a name that is
// used but once; one that is not there is fine.
func (c *Collector) Leave(id string) { c.left.add(id) }

// RemoveOrphans removes what Leave was told, until the context ends; the next daemon sweeps the rest.
func (c *Collector) RemoveOrphans(ctx context.Context) { c.left.run(ctx) }

func (l *orphans) add(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ids[id] = true
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// leftPause is between two attempts, and before the first: an engine that broke off may be
// about to make the container.
const leftPause = 5 * time.Second

// run removes what was left until the context ends; the next daemon sweeps the rest.
func (l *orphans) run(ctx context.Context) {
	for {
		select {
		case <-l.wake:
		case <-ctx.Done():
			return
		}
		for l.some() {
			timer := time.NewTimer(leftPause)
			select {
			case <-timer.C:
			case <-ctx.Done():
				timer.Stop()
				return
			}
			l.try(ctx)
		}
	}
}

func (l *orphans) some() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.ids) > 0
}

// try asks once for each container.
func (l *orphans) try(ctx context.Context) {
	l.mu.Lock()
	ids := slices.Sorted(maps.Keys(l.ids))
	l.mu.Unlock()
	for _, id := range ids {
		if l.remove(ctx, id) == nil {
			l.mu.Lock()
			delete(l.ids, id)
			l.mu.Unlock()
		}
	}
}
