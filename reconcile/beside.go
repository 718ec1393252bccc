package reconcile

import (
	"context"
	"sync"
)

// beside has what goes on beside the loop, and ends with it.
type beside struct {
	life  context.Context // of Run: a trial outlives the request that made it go on
	group sync.WaitGroup
}

// start runs f in a goroutine that the loop waits for. Who calls is the loop, or runs in such a goroutine: they are not
// waited for before this one is counted.
func (b *beside) start(f func(ctx context.Context)) {
	ctx := b.life
	b.group.Go(func() { f(ctx) })
}

// until is start for work that can be stopped before.
func (b *beside) until(work func(ctx context.Context)) (stop context.CancelFunc) {
	ctx, stop := context.WithCancel(b.life)
	b.group.Go(func() {
		defer stop()
		work(ctx)
	})
	return stop
}
