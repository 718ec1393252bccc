package gateway

import (
	"cmp"
	"fmt"

	"github.com/assayd/assayd/runtime/gateway/wire"
)

// heard is what an agent got of its model. Its fields are guarded by the gateway's mu.
type heard struct {
	before bool   // a session of this try had an answer
	asked  int    // requests that a provider was to answer
	well   int    // of them, with something in the answer
	last   string // why the last one of the others was not
}

// Unanswered says why the model gave the agent nothing: every request of the try was refused, or
// answered with nothing. It is "" where one had an answer, and where nothing was asked.
func (s *Session) Unanswered() string {
	s.gateway.mu.Lock()
	defer s.gateway.mu.Unlock()
	if h := s.heard; !h.before && h.asked > 0 && h.well == 0 {
		return fmt.Sprintf("the model gave no answer to any of %d requests, the last time: %s", h.asked, cmp.Or(h.last, "it was still asked"))
	}
	return ""
}

// goesOut counts a request to a model.
func (x *exchange) goesOut() {
	x.s.gateway.mu.Lock()
	defer x.s.gateway.mu.Unlock()
	x.s.heard.asked++
}

// got notes what came of it; "" = an answer.
func (x *exchange) got(nothing string) {
	if x.far == nil { // a question of our own
		return
	}
	x.s.gateway.mu.Lock()
	defer x.s.gateway.mu.Unlock()
	if nothing == "" {
		x.s.heard.well++
	} else {
		x.s.heard.last = nothing
	}
}

// empty says why an exchange that is over gave the agent nothing; "" = it gave something. One token
// is the end of an answer without a word.
func (x *exchange) empty(broken string) string {
	m := &x.meter
	switch {
	case x.lost:
		return "the answer broke off: " + broken
	case m.TextBytes > 0, m.Told && m.Output > 1:
		return ""
	case m.Err != "":
		return wire.Clip([]byte(m.Err))
	case broken != "":
		return broken
	}
	return "an empty answer"
}
