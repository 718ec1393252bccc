package gateway

import (
	"context"
	"errors"
	"time"

	"github.com/assayd/assayd/runtime/waiting"
)

// heldBack is for how long users held a session's requests back. Its fields are guarded by the gateway's mu.
type heldBack struct {
	since time.Time     // of the first request that was held since the last one went on; zero = none was
	took  time.Duration // until then
	why   string        // why the last request was answered as in an outage; "" = it went on
}

var errHeldBack = errors.New("no capacity for now")

// gate keeps a request back as long as users hold it, and at most as long as one to a provider that is away is kept
// back. Then it is answered as in an outage: the agent cannot tell the two apart.
func (x *exchange) gate() *refusal {
	o := x.s.gateway.opts
	if o.HeldBack == nil {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(x.ctx, o.Hold, errHeldBack)
	defer cancel()
	for {
		why, changed := o.HeldBack(x.s.grant.Account, x.s.provider.Name)
		if why == "" {
			x.s.goesOn()
			if x.gated {
				waiting.Because(x.ctx, nil)
			}
			return nil
		}
		x.gated = true
		x.s.keepsBack()
		waiting.Because(x.ctx, errors.New(why))
		select {
		case <-changed:
		case <-x.s.over:
			if bad := x.broke(); bad != nil {
				return bad
			}
		case <-ctx.Done():
			if x.ctx.Err() == nil {
				x.s.givesUp(why)
			}
			return overloaded(x.protocol(), broken(ctx, context.Cause(ctx)))
		}
	}
}

// keepsBack notes that a request is held.
func (s *Session) keepsBack() {
	s.gateway.mu.Lock()
	defer s.gateway.mu.Unlock()
	if s.back.since.IsZero() {
		s.back.since = time.Now()
	}
}

// goesOn notes that a request is not held, or not any more.
func (s *Session) goesOn() {
	s.gateway.mu.Lock()
	defer s.gateway.mu.Unlock()
	if !s.back.since.IsZero() {
		s.back.took += time.Since(s.back.since)
	}
	s.back.since, s.back.why = time.Time{}, ""
}

// givesUp notes that a request is answered as in an outage.
func (s *Session) givesUp(why string) {
	s.gateway.mu.Lock()
	defer s.gateway.mu.Unlock()
	s.back.why = why
}

// HeldBack is for how long users held requests of the session back: each time from the first such request until one
// went on. why says what holds, where the last request was answered as in an outage; "" = it was not.
func (s *Session) HeldBack() (took time.Duration, why string) {
	s.gateway.mu.Lock()
	defer s.gateway.mu.Unlock()
	took = s.back.took
	if !s.back.since.IsZero() {
		took += time.Since(s.back.since)
	}
	return took, s.back.why
}
