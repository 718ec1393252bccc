package pause

import (
	"context"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/assayd/assayd/runtime/clock"
)

// Growing pauses are between attempts at what has to succeed in the end: they grow from a quarter of a second to
// ten seconds, with a quarter of jitter. The zero value begins with the shortest.
type Growing struct{ next *backoff.ExponentialBackOff }

// Reset begins with the shortest again: an attempt has succeeded.
func (p *Growing) Reset() { p.next = nil }

// Wait makes the next pause, or ends with the context.
func (p *Growing) Wait(ctx context.Context) {
	if p.next == nil {
		p.next = &backoff.ExponentialBackOff{InitialInterval: 250 * time.Millisecond, Multiplier: 2, MaxInterval: 10 * time.Second, RandomizationFactor: 0.25}
		p.next.Reset()
	}
	_ = clock.Sleep(ctx, p.next.NextBackOff()) // who goes on looks at the context
}
