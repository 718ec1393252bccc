package daemon

import (
	"context"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// A daemon that has become quiet gives back what its work took. Collected while it works, the
// heap keeps in use whatever a few objects of a look at ten thousand specs still stand on.
const (
	leanEvery = 20 * time.Second
	quiet     = 1 << 20  // bytes of objects made between two ticks, at most
	spare     = 16 << 20 // bytes of objects that are not worth a collection
	garbage   = 100      // percent of what is in use that may be garbage before it is collected
)

// trimMemory gives memory back to the system until the context ends.
func trimMemory(ctx context.Context) error {
	defer debug.SetGCPercent(debug.SetGCPercent(garbage))
	tick := time.NewTicker(leanEvery)
	defer tick.Stop()
	var freed, last uint64 // bytes made until memory was given back, and until the last tick
	for {
		now := made()
		if now-last < quiet && now-freed > spare {
			debug.FreeOSMemory()
			now = made()
			freed = now
		}
		last = now
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// made is how many bytes of objects there have been since the start.
func made() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
