package snapshot

import (
	"context"
	"sync/atomic"

	"github.com/assayd/assayd/reconcile/request"
)

// Latest has the latest snapshot. One goroutine publishes, and any may ask.
type Latest struct {
	now     atomic.Pointer[Snapshot]
	first   chan struct{}   // closed when there is one
	stopped <-chan struct{} // closed once nothing is published any more
}

// NewLatest is without a snapshot. The channel is closed once nothing is published any more; nil = that does not happen.
func NewLatest(stopped <-chan struct{}) *Latest {
	return &Latest{first: make(chan struct{}), stopped: stopped}
}

// Publish makes a snapshot the latest one. One goroutine alone publishes.
func (l *Latest) Publish(now *Snapshot) {
	if l.now.Swap(now) == nil {
		close(l.first)
	}
}

// Get is the latest snapshot; nil = there is none yet.
func (l *Latest) Get() *Snapshot { return l.now.Load() }

// Wait is the latest snapshot. Before the first one it waits for it. It fails with request.ErrStopped once nothing is
// published any more, and with the context.
func (l *Latest) Wait(ctx context.Context) (*Snapshot, error) {
	select {
	case <-l.stopped:
		return nil, request.ErrStopped
	default:
	}
	select {
	case <-l.first:
		return l.now.Load(), nil
	case <-l.stopped:
		return nil, request.ErrStopped
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
