package trial

import (
	"context"
	"testing"
	"time"

	"github.com/assayd/assayd/runtime/clock"
	"github.com/assayd/assayd/runtime/guest/protocol"
	"github.com/assayd/assayd/runtime/judge/round"
)

// A trial whose line is an hour off is one that began an hour's step of the wall clock ago.
func TestAStepOfTheWallClockMovesNothingOfATrial(t *testing.T) {
	for name, step := range map[string]time.Duration{"an hour ahead": time.Hour, "an hour back": -time.Hour} {
		t.Run(name, func(t *testing.T) {
			b := newFixture(t)
			welcomes := make(chan protocol.Welcome, 1)
			b.play(func(ctx context.Context, g *scripted) int {
				g.WriteFile("/work/src/answer", []byte(solved))
				w := g.hello(ctx)
				welcomes <- w
				g.event(ctx, protocol.Event{Seq: 1, Type: protocol.EventStarted, Time: w.Now})
				<-time.After(20 * time.Millisecond) // a run that can be measured
				g.event(ctx, protocol.Event{Seq: 2, Type: protocol.EventEnded, Reason: protocol.EndedExit, Time: w.Now.Add(20 * time.Millisecond)})
				<-ctx.Done()
				return 137
			})
			s := b.fresh(func(c *Cell) { c.Timeout, c.AutoEval = 30*time.Minute, 20*time.Minute })
			s.Line = clock.From(clock.Now().Add(-step))
			line := s.Line
			first := b.machine(s)
			s, _ = b.until(first, s, Running)
			first.Close() // a restart of the daemon
			if left := s.Line.Until(s.Deadline); s.Line != line || left > 30*time.Minute || left < 29*time.Minute {
				t.Errorf("the deadline is %s away", left)
			}
			m := b.machine(s)
			if err := m.attach(t.Context(), s); err != nil {
				t.Fatal(err)
			}
			if wait := s.Line.Until(m.nextWake(s)); wait > meterEvery || wait < meterEvery-5*time.Second {
				t.Errorf("the next look is in %s", wait)
			}
			if due := s.Line.Until(s.NextAuto); due > 20*time.Minute || due < 19*time.Minute {
				t.Errorf("the next snapshot is due in %s", due)
			}
			s, _ = b.until(m, s, Done)
			if w := <-welcomes; !w.Deadline.Equal(s.Deadline) || w.Deadline.Sub(w.Now) > 30*time.Minute || w.Deadline.Sub(w.Now) < 29*time.Minute {
				t.Errorf("the guest was told that at %s the deadline is %s", w.Now, w.Deadline)
			}
			if r := s.Result; r.Status != Resolved || r.AgentDuration < 0.02 || r.AgentDuration > 60 || r.Best.Elapsed < 0 || r.Best.Elapsed > 60 {
				t.Errorf("%s after %gs, the best round after %gs", r.Status, r.AgentDuration, r.Best.Elapsed)
			}
			for _, sub := range b.ledger.of(s.ID) {
				if sub.Report.QueuedMS < 0 || sub.Report.QueuedMS > 60_000 || sub.Report.DurationMS > 60_000 {
					t.Errorf("%s was queued for %d ms and judged for %d ms", sub.Round, sub.Report.QueuedMS, sub.Report.DurationMS)
				}
			}
		})
	}
}

// After a reboot the wall clock says how much time is left; the deadline is what it was.
func TestARebootRenewsTheLineAndNothingElse(t *testing.T) {
	b := newFixture(t)
	b.play(idle)
	first := b.machine(b.fresh())
	s, _ := b.until(first, b.fresh(), Running)
	first.Close()
	before := s
	s.Line.Boot = "another"
	next, effects, err := b.machine(s).Step(t.Context(), s)
	if err != nil || len(effects) > 0 || next.Line.Boot != clock.Boot() || !next.Deadline.Equal(before.Deadline) {
		t.Errorf("%+v with the deadline %s, %v, reported %s", next.Line, next.Deadline, err, types(effects))
	}
	if off := next.Line.Now().Sub(before.Line.Now()); off.Abs() > 10*time.Second {
		t.Errorf("the new line is %s off", off)
	}
}

// When the machine went down before the deadline and came back after it, the container is
// started for what its guest still has to tell, and for the last snapshot.
func TestADeadlineThatPassedInARebootIsTheEnd(t *testing.T) {
	b := newFixture(t)
	b.play(func(ctx context.Context, g *scripted) int {
		g.WriteFile("/work/src/answer", []byte(solved))
		if w := g.hello(ctx); !w.Now.Before(w.Deadline) {
			g.event(ctx, protocol.Event{Seq: 1, Type: protocol.EventEnded, Reason: protocol.EndedDeadline, Time: w.Now})
		}
		<-ctx.Done()
		return 137
	})
	first := b.machine(b.fresh())
	s, _ := b.until(first, b.fresh(), Running)
	first.Close()
	b.fake.Reboot()
	s.Line.Boot = "another"
	s.StartedAt, s.Deadline = s.StartedAt.Add(-2*time.Hour), s.Deadline.Add(-2*time.Hour)
	deadline := s.Deadline
	s, _ = b.until(b.machine(s), s, Done)
	if r := s.Result; r.Status != Resolved || r.Reason != ReasonDeadline || !r.TimedOut || !s.EndedAt.Equal(deadline) || s.Try != 1 {
		t.Errorf("%s, %s, timed out %v, ended at %s in try %d", r.Status, r.Reason, r.TimedOut, s.EndedAt, s.Try)
	}
	if subs := b.ledger.of(s.ID); len(subs) != 1 || subs[0].Kind != round.KindFinal {
		t.Errorf("rounds %+v", subs)
	}
}
