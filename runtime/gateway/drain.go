package gateway

import (
	"context"
	"errors"
	"sync/atomic"
	"time"
)

// What goes on after an agent has hung up, so that the provider tells what its answer takes.
const (
	drainTime = 2 * time.Minute
	maxDrains = 64 // of a session at the same time
)

// far is the side of an exchange towards the provider. It outlives the agent's by the time of a
// drain, and never the session.
type far struct {
	ctx     context.Context
	end     context.CancelCauseFunc
	model   atomic.Bool // a model is asked: there is something to be told
	drains  atomic.Bool
	timer   atomic.Pointer[time.Timer]
	stop    []func()
	session *Session
}

// newFar begins the provider's side of an exchange of the agent's context.
func newFar(agent context.Context, s *Session) *far {
	f := &far{session: s}
	f.ctx, f.end = context.WithCancelCause(context.WithoutCancel(agent))
	for _, watched := range []context.Context{s.life, agent} {
		handled := make(chan struct{})
		watch := context.AfterFunc(watched, func() {
			defer close(handled)
			f.gone(agent)
		})
		f.stop = append(f.stop, func() {
			if !watch() {
				<-handled
			}
		})
	}
	return f
}

// gone ends the provider's side, or gives it the time of a drain.
func (f *far) gone(agent context.Context) {
	cause := context.Cause(agent)
	if f.session.life.Err() != nil {
		cause = context.Cause(f.session.life)
	}
	left := errors.Is(cause, context.Canceled) || errors.Is(cause, errGone)
	if left && f.model.Load() && f.drains.CompareAndSwap(false, f.session.drains.TryAcquire(1)) && f.drains.Load() {
		f.timer.Store(time.AfterFunc(f.session.gateway.opts.Drain, func() { f.end(errGone) }))
		return
	}
	f.end(cause)
}

// close ends the provider's side.
func (f *far) close() {
	for _, stop := range f.stop {
		stop()
	}
	if timer := f.timer.Load(); timer != nil {
		timer.Stop()
	}
	if f.drains.Load() {
		f.session.drains.Release(1)
	}
	f.end(nil)
}
