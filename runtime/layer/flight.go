package layer

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// longest is how long making one layer may take, with all waiting for a registry.
const longest = 30 * time.Minute

// flights makes each thing once, however many callers ask for it at the same time: the first
// makes it, the others share what comes of it. Where the first is called off, the next one
// takes over.
type flights struct {
	mu sync.Mutex
	m  map[string]*flight
}

type flight struct {
	done   chan struct{} // closed when all else is final
	layer  Layer
	err    error
	gaveUp bool // the context of the one who made it ended
}

// do returns what build returns, here or in a call that is under way, or the cause of ctx.
func (fs *flights) do(ctx context.Context, key string, build func(context.Context) (Layer, error)) (Layer, error) {
	for {
		f, first := fs.join(key)
		if first {
			bounded, cancel := context.WithTimeoutCause(ctx, longest, fmt.Errorf("it is not done after %s", longest))
			f.layer, f.err = build(bounded)
			cancel()
			f.gaveUp = f.err != nil && ctx.Err() != nil
			fs.leave(key, f)
			return f.layer, f.err
		}
		select {
		case <-f.done:
			if !f.gaveUp {
				return f.layer, f.err
			}
		case <-ctx.Done():
			return Layer{}, context.Cause(ctx)
		}
	}
}

// join finds the flight of key, or begins it.
func (fs *flights) join(key string) (f *flight, first bool) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if f, ok := fs.m[key]; ok {
		return f, false
	}
	f = &flight{done: make(chan struct{})}
	if fs.m == nil {
		fs.m = map[string]*flight{}
	}
	fs.m[key] = f
	return f, true
}

func (fs *flights) leave(key string, f *flight) {
	fs.mu.Lock()
	delete(fs.m, key)
	fs.mu.Unlock()
	close(f.done)
}
