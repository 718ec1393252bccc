package image

import (
	"context"
	"errors"
	"sync"
)

// errNobodyWaits ends a build whose result nobody wants any more.
var errNobodyWaits = errors.New("it is not needed any more")

// flights does equal builds once: callers with the same key share one result. The build
// goes on while at least one of them waits; the last one to leave ends it and sees it end.
// (x/sync's singleflight knows nothing of who waits, so that a build would go on for no caller.)
type flights struct {
	mu sync.Mutex
	m  map[string]*flight
}

type flight struct {
	done    chan struct{} // closed when built and err are final
	built   Built
	err     error
	waiting int // under flights.mu; zero = given up, or over
	cancel  context.CancelCauseFunc
}

// do returns what build returns, or the cause of ctx.
func (fs *flights) do(ctx context.Context, key string, build func(context.Context) (Built, error)) (Built, error) {
	for {
		f, joined := fs.join(ctx, key, build)
		select {
		case <-f.done:
			if joined {
				return f.built, f.err
			}
			// It was given up, and its remains are gone now: start afresh.
		case <-ctx.Done():
			if joined {
				fs.leave(f)
			}
			return Built{}, context.Cause(ctx)
		}
	}
}

// join finds the flight of key or starts it; false says that it is being given up.
func (fs *flights) join(ctx context.Context, key string, build func(context.Context) (Built, error)) (*flight, bool) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if f := fs.m[key]; f != nil {
		if f.waiting == 0 {
			return f, false
		}
		f.waiting++
		return f, true
	}
	shared, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	f := &flight{done: make(chan struct{}), waiting: 1, cancel: cancel}
	if fs.m == nil {
		fs.m = map[string]*flight{}
	}
	fs.m[key] = f
	go func() { // ends with the build, which the last caller to leave waits for
		defer cancel(nil)
		f.built, f.err = build(shared)
		fs.mu.Lock()
		delete(fs.m, key)
		fs.mu.Unlock()
		close(f.done)
	}()
	return f, true
}

// leave is for a caller whose context is over.
func (fs *flights) leave(f *flight) {
	fs.mu.Lock()
	f.waiting--
	last := f.waiting == 0
	fs.mu.Unlock()
	if last {
		f.cancel(errNobodyWaits)
		<-f.done
	}
}
