package watch

import "time"

// settler turns a burst of nudges into one tick: when nothing has happened for the quiet
// time, or when the limit since the first nudge is reached, so that a stream of writes
// cannot put the tick off for ever. It is used by one goroutine.
type settler struct {
	quiet, limit time.Duration
	timer        *time.Timer
	first        time.Time // of the burst under way; zero = none
}

func newSettler(quiet, limit time.Duration) *settler {
	timer := time.NewTimer(0)
	timer.Stop()
	return &settler{quiet: quiet, limit: limit, timer: timer}
}

// nudge notes that something happened now.
func (s *settler) nudge() {
	now := time.Now()
	if s.first.IsZero() {
		s.first = now
	}
	s.timer.Reset(min(s.quiet, s.first.Add(s.limit).Sub(now)))
}

// pending tells whether a tick is still to come.
func (s *settler) pending() bool { return !s.first.IsZero() }

// tick delivers once a burst; the receiver calls done.
func (s *settler) tick() <-chan time.Time { return s.timer.C }

// done ends the burst: the next nudge begins a new one.
func (s *settler) done() {
	s.timer.Stop()
	s.first = time.Time{}
}
