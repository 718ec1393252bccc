package trial

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/runtime/guest/protocol"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/task"
	"github.com/assayd/assayd/runtime/trial/tryrounds"
)

const partly = "t1 passed\nt2 failed\n"

// shortly is how long trials may take that need longer.
const shortly = 500 * time.Millisecond

// outlives plays an agent that has one answer at the declared deadline, when it knows of the later one, and does what
// comes then.
func (b *fixture) outlives(s State, answer string, then func(ctx context.Context, g *scripted)) {
	b.play(func(ctx context.Context, g *scripted) int {
		w := g.hello(ctx)
		g.event(ctx, protocol.Event{Seq: 1, Type: protocol.EventStarted})
		g.WriteFile("/work/src/answer", []byte(answer))
		// A hello that a daemon which is killed has not answered is answered by the next one, with the later deadline.
		if w.Deadline.Sub(w.Now) > s.Cell.Timeout {
			then(ctx, g)
			<-ctx.Done()
			return 137
		}
		var o protocol.Order
		for o.Deadline.IsZero() && ctx.Err() == nil && time.Now().Before(w.Deadline) {
			short, cancel := context.WithDeadline(ctx, w.Deadline)
			g.post(short, "/v1/poll", protocol.Beat{Deadline: w.Deadline}, &o)
			cancel()
		}
		if o.Deadline.IsZero() { // it was not told in time, and ends as guests do
			g.event(ctx, protocol.Event{Seq: 2, Type: protocol.EventEnded, Reason: protocol.EndedDeadline, Time: w.Deadline})
			<-ctx.Done()
			return 137
		}
		if !o.Deadline.Equal(w.Deadline.Add(time.Hour)) || o.End {
			b.t.Errorf("the guest that knows of %s is told %+v", w.Deadline, o)
		}
		then(ctx, g)
		<-ctx.Done()
		return 137
	})
}

// judgedDeclared waits for the tree of the declared deadline.
func (b *fixture) judgedDeclared(ctx context.Context, id string) {
	for over := time.Now().Add(20 * time.Second); ctx.Err() == nil && time.Now().Before(over); {
		subs, err := b.ledger.Submissions(ctx, id)
		if err == nil && slices.ContainsFunc(subs, func(o round.Submission) bool { return o.Key == declaredKey && o.State == round.StateJudged }) {
			return
		}
		<-time.After(time.Millisecond)
	}
}

// more asks for an hour beyond the deadline of a trial as soon as its agent works.
func (b *fixture) more(m *Machine, s State) (State, []Effect) {
	b.t.Helper()
	s, told := b.until(m, s, Running)
	m.Extend(Extend{Until: s.Deadline.Add(time.Hour), Why: "extended by anna"})
	return s, told
}

func briefly(c *Cell) { c.Timeout = shortly }

func (b *fixture) ends(ctx context.Context, g *scripted, answer string) {
	g.WriteFile("/work/src/answer", []byte(answer))
	g.event(ctx, protocol.Event{Seq: 2, Type: protocol.EventEnded, Reason: protocol.EndedExit})
}

// What an extended trial has at its declared deadline is what is reported; what it comes to later stands beside.
func TestAnExtendedTrialIsReportedAsOfItsDeclaredDeadline(t *testing.T) {
	b := newFixture(t)
	s := b.fresh(briefly)
	b.outlives(s, partly, func(ctx context.Context, g *scripted) {
		b.judgedDeclared(ctx, s.ID)
		b.ends(ctx, g, solved)
	})
	m := b.machine(s)
	s, told := b.more(m, s)
	s, later := b.until(m, s, Done)
	if got := types(append(told, later...)); got != "trial.started trial.event:extended trial.finished" {
		t.Errorf("reported: %s", got)
	}
	r := s.Result
	if r.Status != Unresolved || r.Reason != ReasonDeadline || !r.TimedOut || r.Best == nil || r.Best.Round != "final-1" || r.Best.PassRate != 0.5 || !slices.Contains(r.Flags, FlagExtended) || !r.Final {
		t.Errorf("verdict %+v", r)
	}
	x := r.Extended
	if x == nil || x.Status != Resolved || x.Reason != ReasonAgentExit || x.Best == nil || x.Best.Round != "final-2" || x.TimedOut || !x.Deadline.Equal(x.Declared.Add(time.Hour)) {
		t.Errorf("beside it stands %+v", x)
	}
	if took := s.EndedAt.Sub(s.StartedAt).Seconds(); r.AgentDuration < shortly.Seconds() || r.AgentDuration-took > 0.01 {
		t.Errorf("it worked for %gs, and says %gs", took, r.AgentDuration)
	}
	counted := s.Counted(b.ledger.of(s.ID))
	if len(counted) != 1 || counted[0].Round != "final-1" {
		t.Errorf("counted are %+v", counted)
	}
}

// A daemon that is killed between any two steps is followed by one that is told of the same deadline, and takes no tree and
// gives no verdict twice.
func TestEveryStepOfAnExtendedTrialMayBeRepeated(t *testing.T) {
	t.Parallel()
	for crash, steps := 0, 1; crash <= steps && !t.Failed(); crash++ {
		t.Run(fmt.Sprint(crash), func(t *testing.T) {
			b := newFixture(t)
			s := b.fresh(func(c *Cell) { c.Timeout = 3 * shortly })
			b.outlives(s, partly, func(ctx context.Context, g *scripted) {
				b.judgedDeclared(ctx, s.ID)
				b.ends(ctx, g, solved)
			})
			m, finals, told := New(b.host, s.ID, s.Spec), 0, false
			defer func() { m.Close() }()
			for steps = 0; s.Phase != Done; steps++ {
				if s.Phase == Running && !told {
					m.Extend(Extend{Until: s.DeclaredDeadline().Add(time.Hour), Why: "extended by anna"})
					told = true
				}
				next, effects, err := m.Step(t.Context(), s)
				if err != nil {
					t.Fatalf("step %d in phase %s: %v", steps, s.Phase, err)
				}
				if steps == crash { // what it returned is lost, with all that the daemon held
					m.Close()
					m, told = New(b.host, s.ID, s.Spec), false
					continue
				}
				s = next
				for _, e := range effects {
					if e.Type == "trial.finished" {
						finals++
					}
				}
			}
			r, subs := s.Result, b.ledger.of(s.ID)
			if s.Extension == nil { // on a very busy machine the time was over before
				if finals != 1 || len(subs) != 1 || r.Best == nil || r.Best.Round != "final-1" || r.Reason != ReasonDeadline || r.Extended != nil {
					t.Errorf("%d verdicts, rounds %+v, %+v", finals, subs, r)
				}
				return
			}
			if finals != 1 || len(subs) != 2 || r.Best == nil || r.Best.Round != "final-1" || r.Extended == nil || r.Extended.Best == nil || r.Extended.Best.Round != "final-2" {
				t.Errorf("%d verdicts, rounds %+v, %+v, later %+v", finals, subs, r, r.Extended)
			}
		})
	}
}

// Whatever is judged beyond the rounds themselves is judged of both.
func TestThePrivateSetLooksAtBothEndsOfAnExtendedTrial(t *testing.T) {
	b, runs := privateBench(t)
	s := b.fresh(withPrivate, briefly)
	b.outlives(s, overfitted, func(ctx context.Context, g *scripted) {
		b.judgedDeclared(ctx, s.ID)
		b.ends(ctx, g, solved)
	})
	m := b.machine(s)
	s, _ = b.more(m, s)
	s, _ = b.until(m, s, Done)
	sure, overfit := Score{Status: round.StatusOK, Valid: true, PassRate: 1}, Score{Status: round.StatusOK, Valid: true, PassRate: 0.5}
	if diff := cmp.Diff(&PrivateSet{Round: "final-1", Score: overfit}, s.Result.Private); diff != "" || s.Result.Status != Unresolved {
		t.Errorf("%s, (-want +got):\n%s", s.Result.Status, diff)
	}
	// Of equal rounds the first one counts, so that the later tree is the last one.
	if diff := cmp.Diff(&PrivateSet{Round: "final-1", Score: overfit, Final: &sure}, s.Result.Extended.Private); diff != "" || runs.Load() != 2 {
		t.Errorf("after %d runs (-want +got):\n%s", runs.Load(), diff)
	}
}

// An agent that ends before its declared deadline has used nothing that was given to it, but may have known of it.
func TestAnAgentThatEndsInItsDeclaredTimeIsReportedAsItEnds(t *testing.T) {
	b := newFixture(t)
	s := b.fresh()
	b.outlives(s, partly, func(ctx context.Context, g *scripted) { b.ends(ctx, g, solved) })
	m := b.machine(s)
	s, _ = b.more(m, s)
	s, _ = b.until(m, s, Done)
	if r := s.Result; r.Status != Resolved || r.Reason != ReasonAgentExit || r.Extended != nil || !slices.Contains(r.Flags, FlagExtended) {
		t.Errorf("verdict %+v", r)
	}
}

// passes makes steps until the daemon knows that the agent went on beyond the declared deadline.
func (b *fixture) passes(m *Machine, s State) State {
	b.t.Helper()
	for s.Extension == nil || !s.Extension.Passed {
		next, _, err := m.Step(b.t.Context(), s)
		if err != nil {
			b.t.Fatal(err)
		}
		s = next
	}
	return s
}

// What breaks beyond the declared deadline takes nothing of what there was at it, and nothing is tried again. What broke
// before it, as far as anybody knows, is the machine's fault as ever.
func TestWhatBreaksInExtendedTimeTakesNothing(t *testing.T) {
	for name, late := range map[string]bool{"beyond the declared deadline": true, "before, found out later": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newFixture(t)
			s, lose := b.fresh(briefly), make(chan struct{})
			b.outlives(s, partly, func(ctx context.Context, g *scripted) {
				select {
				case <-lose:
				case <-ctx.Done():
				}
			})
			m := b.machine(s)
			s, _ = b.more(m, s)
			if late {
				s = b.passes(m, s)
			} else {
				s = b.untilExtended(m, s)
				m.Close() // the daemon is away until the declared deadline is over
				<-time.After(2 * shortly)
				m = b.machine(s)
			}
			if err := b.fake.Remove(t.Context(), s.Workload.Name); err != nil {
				t.Fatal(err)
			}
			close(lose)
			s, _, _ = b.insist(m, s, Done)
			r := s.Result
			switch {
			case late && (r.Status != Unresolved || !r.Final || r.Best == nil || r.Best.Round != "final-1" || r.Extended == nil || r.Extended.Status != InfraError || r.Extended.Reason != ReasonGuestLost):
				t.Errorf("verdict %+v, later %+v", r, r.Extended)
			case !late && (r.Status != InfraError || r.Reason != ReasonGuestLost || r.Final || r.Extended != nil):
				t.Errorf("verdict %+v, later %+v", r, r.Extended)
			}
		})
	}
}

// untilExtended makes steps until the deadline has moved.
func (b *fixture) untilExtended(m *Machine, s State) State {
	b.t.Helper()
	for s.Extension == nil {
		next, _, err := m.Step(b.t.Context(), s)
		if err != nil {
			b.t.Fatal(err)
		}
		s = next
	}
	return s
}

// An agent that is root can say when it ended. It does not make what it made later part of its declared time.
func TestNoWordOfAGuestMovesTheEndOfAnExtendedTrialBack(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	s, solve := b.fresh(briefly), make(chan struct{})
	b.outlives(s, partly, func(ctx context.Context, g *scripted) {
		select {
		case <-solve:
		case <-ctx.Done():
			return
		}
		g.WriteFile("/work/src/answer", []byte(solved))
		g.event(ctx, protocol.Event{Seq: 2, Type: protocol.EventEnded, Reason: protocol.EndedExit, Time: s.StartedAt.Add(time.Millisecond)})
	})
	m := b.machine(s)
	s, _ = b.more(m, s)
	s = b.passes(m, s)
	close(solve)
	s, _ = b.until(m, s, Done)
	if r := s.Result; r.Status != Unresolved || r.Best == nil || r.Best.Round != "final-1" || r.Extended == nil || r.Extended.Status != Resolved {
		t.Errorf("verdict %+v, later %+v", r, r.Extended)
	}
}

// A round counts by when the whole of its archive was there, and the last tree of an agent that ended in time.
func TestWhichRoundsOfAnExtendedTrialCount(t *testing.T) {
	declared := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	before, after := declared.Add(-time.Minute), declared.Add(time.Minute)
	for _, tt := range []struct {
		kind               round.Kind
		reserved, accepted time.Time
		name               string
		ended              time.Time
		counts             bool
	}{
		{round.KindAgent, before, before, "agent-1", after, true},
		{round.KindAgent, before, after, "agent-1", after, false}, // an archive that was filled later
		{round.KindAgent, before, after, "agent-1", before, false},
		{round.KindAgent, after, time.Time{}, "agent-1", time.Time{}, false},
		{round.KindAgent, before, time.Time{}, "agent-1", time.Time{}, true},
		{round.KindAuto, after, after, "auto-1", after, false},
		{round.KindFinal, after, after, "final-1", after, true}, // the tree of the declared deadline
		{round.KindFinal, after, after, "final-2", after, false},
		{round.KindFinal, after, after, "final-2", before, true},
		{round.KindPrivate, after, after, "private-1", after, true},
	} {
		s := State{Try: 1, EndedAt: tt.ended, Extension: &tryrounds.Extension{Declared: declared, Taken: true, Round: "final-1"}}
		o := round.Submission{Try: 1, Round: tt.name, Kind: tt.kind, ReservedAt: tt.reserved, AcceptedAt: tt.accepted}
		if got := len(s.Counted([]round.Submission{o})) == 1; got != tt.counts {
			t.Errorf("%s reserved %s, accepted %s, of an agent that ended %s, counts: %v", tt.name, tt.reserved, tt.accepted, tt.ended, got)
		}
	}
}

// A user's cancel ends an extended trial without a verdict, as any other.
func TestACancelBeyondTheDeclaredDeadlineIsOne(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	s := b.fresh(briefly)
	b.outlives(s, partly, func(ctx context.Context, g *scripted) {})
	m := b.machine(s)
	s, _ = b.more(m, s)
	s = b.passes(m, s)
	m.Cancel(Cancellation{Cause: "cancelled by anna"})
	s, _ = b.until(m, s, Done)
	if r := s.Result; r.Status != Cancelled || r.Reason != ReasonCancelled || r.Detail != "cancelled by anna" || r.TimedOut || r.Extended != nil {
		t.Errorf("verdict %+v", r)
	}
}

// A tree that nobody took in time is none of the declared deadline.
func TestALateLookAtTheDeclaredDeadlineTakesNoTree(t *testing.T) {
	b := newFixture(t)
	s := b.fresh()
	hold := make(chan struct{})
	b.play(func(ctx context.Context, g *scripted) int {
		g.hello(ctx)
		g.event(ctx, protocol.Event{Seq: 1, Type: protocol.EventStarted})
		select {
		case <-hold:
			b.ends(ctx, g, solved)
		case <-ctx.Done():
		}
		<-ctx.Done()
		return 137
	})
	m := b.machine(s)
	s, _ = b.until(m, s, Running)
	s.Extension = &tryrounds.Extension{Declared: s.Line.Now().Add(-2 * declaredSlack)}
	s.StartedAt = s.Extension.Declared.Add(-time.Minute)
	var told []Effect
	for s.Extension != nil && !s.Extension.Taken {
		next, effects, err := m.Step(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		s, told = next, append(told, effects...)
	}
	if got := types(told); got != "trial.event:not_taken" || len(b.ledger.of(s.ID)) != 0 {
		t.Errorf("told %s, judged %+v", got, b.ledger.of(s.ID))
	}
	close(hold)
	s, _ = b.until(m, s, Done)
	if r := s.Result; r.Status != Unresolved || r.Best != nil || r.Extended == nil || r.Extended.Status != Resolved {
		t.Errorf("verdict %+v, later %+v", r, r.Extended)
	}
}

// In single mode nothing is handed in before the end: who needed more time has not made it in time.
func TestASingleModeTrialThatNeededMoreTimeHasTimedOut(t *testing.T) {
	b := newFixture(t)
	b.before(sound)
	s := b.fresh(once, briefly)
	b.outlives(s, partly, func(ctx context.Context, g *scripted) {
		<-time.After(2 * shortly) // its time is over
		b.ends(ctx, g, solved)
	})
	m := b.machine(s)
	s, _ = b.more(m, s)
	s, _ = b.until(m, s, Done)
	if r := s.Result; r.Status != AgentError || !r.TimedOut || r.Best != nil || r.Extended == nil || r.Extended.Status != Resolved {
		t.Errorf("verdict %+v, later %+v", r, r.Extended)
	}
}

// Games, and guests of an earlier version, keep their deadline.
func TestWhatCannotBeExtended(t *testing.T) {
	b := newFixture(t)
	s := b.fresh()
	s.GuestVersion = protocol.Version
	for name, change := range map[string]func(*State){
		"earlier version":           func(s *State) { s.GuestVersion = 1 },
		"earlier version of assayd": func(s *State) { s.GuestVersion = 0 },
		"no result at the declared": func(s *State) { s.Cell.Task.Judge.Game = "chess" },
	} {
		x := s
		x.Cell.Task = task.Task{}
		change(&x)
		x.Phase, x.Deadline = Running, time.Now().Add(time.Minute)
		m := b.machine(x)
		if next, told := m.extend(x, Extend{Until: x.Deadline.Add(time.Hour)}); !strings.Contains(x.MayExtend(), name) || !next.Deadline.Equal(x.Deadline) || told != nil {
			t.Errorf("%q: %q, and the deadline is %s", name, x.MayExtend(), next.Deadline)
		}
	}
	if why := s.MayExtend(); why != "" {
		t.Errorf("any other cannot be extended: %s", why)
	}
}
