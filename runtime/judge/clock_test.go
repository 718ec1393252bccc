package judge

import (
	"errors"
	"testing"
	"time"

	"github.com/assayd/assayd/runtime/clock"
	"github.com/assayd/assayd/runtime/judge/round"
)

// A session whose line is an hour off is one that began an hour's step of the wall clock ago.
func TestAStepOfTheWallClockMovesNoLimitOfASession(t *testing.T) {
	for name, step := range map[string]time.Duration{"an hour ahead": time.Hour, "an hour back": -time.Hour} {
		t.Run(name, func(t *testing.T) {
			b := newFixture(t)
			line := clock.From(clock.Now().Add(-step))
			terms := func(s *round.Session) {
				s.Line, s.Deadline, s.Cooldown = line, line.Now().Add(30*time.Minute), 20*time.Minute
			}
			b.open("t", terms)
			sub := b.judged(t, b.submit(t, "t", round.KindAgent, "a passed").ID)
			if ago := line.Now().Sub(sub.AcceptedAt); ago < 0 || ago > time.Minute {
				t.Errorf("it was accepted %s ago", ago)
			}
			if q, d := sub.Report.QueuedMS, sub.Report.DurationMS; q < 0 || q > 60_000 || d < 0 || d > 60_000 {
				t.Errorf("it was queued for %d ms and judged for %d ms", q, d)
			}
			b.open("t", terms) // a restart of the daemon
			_, err := b.Submit(t.Context(), "t", round.SubmitRequest{Kind: round.KindAgent, Archive: upload(t, "b passed")})
			if r, ok := errors.AsType[*round.Refusal](err); !ok || r.Code != 429 || r.RetryAfter > 20*time.Minute || r.RetryAfter < 19*time.Minute {
				t.Errorf("within the cooldown: %v", err)
			}
			b.open("t", terms, func(s *round.Session) { s.Cooldown, s.Deadline = 0, line.Now() })
			_, err = b.Submit(t.Context(), "t", round.SubmitRequest{Kind: round.KindAgent, Archive: upload(t, "b passed")})
			if r, ok := errors.AsType[*round.Refusal](err); !ok || r.Code != 403 {
				t.Errorf("at the deadline: %v", err)
			}
		})
	}
}
