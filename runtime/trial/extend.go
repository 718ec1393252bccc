package trial

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/guest"
	"github.com/assayd/assayd/runtime/judge/round"
)

// FlagExtended marks a trial whose deadline a user has moved to a later time.
const FlagExtended = "extended"

// declaredSlack is how late the tree of the declared deadline may be taken. What the agent makes later is not told
// apart from what it had then.
const declaredSlack = 30 * time.Second

// Extension is the time that a user gave a try beyond what its spec declares. What is reported of the trial is what
// it had come to at the declared deadline; what it came to later stands beside.
type Extension struct {
	Declared time.Time // the deadline by the spec
	Taken    bool      // the tree at that time is taken, or nobody could
	Round    string    `json:",omitempty"` // that has it; "" = none
	Outage   string    `json:",omitempty"` // as State.Outage, at that time
}

// Extended says in the verdict of an extended trial what it came to by the later deadline, which is in no rate, mean,
// or curve.
type Extended struct {
	Declared    time.Time   `json:"declared"` // the deadline by the spec, which the trial's other fields are of
	Deadline    time.Time   `json:"deadline"` // the later one
	Status      Status      `json:"status"`
	Reason      string      `json:"reason"`
	Detail      string      `json:"detail,omitempty"`
	Best        *Best       `json:"best"`
	Private     *PrivateSet `json:"private"`
	Submissions Counts      `json:"submissions"`
	TimedOut    bool        `json:"timed_out"`
}

// Extend is what Machine.Extend asks for.
type Extend struct {
	Until time.Time // the new deadline
	Why   string    // "extended by anna: …"
}

// Extend moves the deadline of an agent that works to a later time, which raises the flag extended. It does nothing to
// a trial whose agent has ended. It is called by one goroutine; the last call counts.
func (m *Machine) Extend(x Extend) {
	select {
	case <-m.extends: // not taken in yet
	default:
	}
	m.extends <- x
}

// MayExtend says why the deadline of a trial whose agent works cannot be moved; "" = it can.
func (s State) MayExtend() string {
	switch {
	case plays(s):
		return "a game that is played has one end, so that there would be no result at the declared deadline"
	case !guest.MovesDeadlines(s.GuestVersion):
		return "its container was made by an earlier version of assayd, and keeps the deadline that it was given"
	}
	return ""
}

// DeclaredDeadline is when the agent's time is over by its spec; zero = it has not begun.
func (s State) DeclaredDeadline() time.Time {
	if s.Extension != nil {
		return s.Extension.Declared
	}
	return s.Deadline
}

// extended tells of a later deadline that a trial which runs is to have.
func (m *Machine) extended(s State) <-chan Extend {
	if s.Phase != Running {
		return nil
	}
	return m.extends
}

func (m *Machine) extend(s State, x Extend) (State, []Effect) {
	if !x.Until.After(s.Deadline) || s.MayExtend() != "" {
		return s, nil // a former daemon has done so
	}
	if s.Extension == nil {
		s.Extension = &Extension{Declared: s.Deadline, Taken: single(s)} // which has no tree but the last
	}
	s.Deadline, s.Flags = x.Until, appendOnce(s.Flags, FlagExtended)
	if s.NextAuto.IsZero() {
		s.NextAuto = nextAuto(s, s.Line.Now())
	}
	m.openSession(s)
	l := m.handle
	m.acks = append(m.acks, func() { l.due(s.Deadline) }) // when it is stored
	return s, []Effect{m.happened(s, FlagExtended, x.Why)}
}

// declares is when the tree of the declared deadline is to be taken; zero = it is, or there is no other deadline.
func (s State) declares() time.Time {
	if s.Extension == nil || s.Extension.Taken {
		return time.Time{}
	}
	return s.Extension.Declared
}

// declared takes the tree of an extended trial at the deadline that its spec declares.
func (m *Machine) declared(ctx context.Context, s State) (State, []Effect, error) {
	x := *s.Extension // the state that the caller has stays as it is
	x.Taken, x.Outage = true, m.outage(false)
	late := s.Line.Now().Sub(x.Declared)
	if late > declaredSlack {
		s.Extension = &x
		return s, []Effect{m.happened(s, "not_taken", fmt.Sprintf("the tree at the declared deadline was not taken: nobody looked until %s later", late.Round(time.Second)))}, nil
	}
	sub, err := m.snapshot(ctx, s, round.KindAuto, "declared-1")
	_, refused := refused(err)
	switch {
	case ctx.Err() != nil:
		return s, nil, context.Cause(ctx)
	case err != nil && !refused && (container.Unavailable(err) || ownTrouble(err)):
		return s, nil, err // until it is too late
	case err != nil:
		s.Extension = &x
		return s, []Effect{m.happened(s, "not_taken", "the tree at the declared deadline was not taken: "+err.Error())}, nil
	}
	x.Round, s.Extension = sub.Round, &x
	return s, nil, nil
}

// lastAsDeclared takes the last tree of an agent that has ended right at the declared deadline for the one of then.
func lastAsDeclared(s State, last round.Submission) State {
	if s.Extension != nil && !s.Extension.Taken && !s.EndedAt.After(s.Extension.Declared.Add(declaredSlack)) {
		x := *s.Extension
		x.Taken, x.Round = true, last.Round
		s.Extension = &x
	}
	return s
}

// beyond reports whether the agent works, or has worked, on beyond the declared deadline.
func (s State) beyond() bool {
	return s.Extension != nil && s.EndedAt.After(s.Extension.Declared)
}

// Counted are the rounds of a trial's present try that its numbers come from, and those of the judge's own: of an
// extended trial those until the declared deadline.
func (s State) Counted(subs []round.Submission) []round.Submission {
	return Counted(subs, s.Try, s.Extension, s.EndedAt)
}

// Counted is State.Counted of the parts of a state. Where all count it is subs itself: of thousands of trials each copy
// would be felt.
func Counted(subs []round.Submission, try int, x *Extension, ended time.Time) []round.Submission {
	not := func(o round.Submission) bool { return o.Try != try || x.beyond(o, ended) }
	if !slices.ContainsFunc(subs, not) {
		return slices.Clip(subs)
	}
	return slices.DeleteFunc(slices.Clone(subs), not)
}

// Beyond reports whether a round of the trial was made beyond the declared deadline, by an agent that went on.
func (s State) Beyond(o round.Submission) bool { return s.Extension.beyond(o, s.EndedAt) }

func (x *Extension) beyond(o round.Submission, ended time.Time) bool {
	if x == nil || !ended.IsZero() && !ended.After(x.Declared) {
		return false
	}
	return !o.Kind.Internal() && o.Round != x.Round && !o.ReservedAt.Before(x.Declared)
}

// asDeclared is the trial as it was at the declared deadline, where its agent went on.
func (s State) asDeclared() State {
	s.Reason, s.Detail, s.TimedOut, s.Crashed = ReasonDeadline, "", true, false
	s.Outage, s.FinalRound, s.EndedAt = s.Extension.Outage, s.Extension.Round, s.Extension.Declared
	if s.Failure == InfraError { // what broke later takes nothing of it
		s.Failure, s.Settled = "", false
	}
	return s
}

// both is what choose says of the rounds that count and, of a trial whose agent went on, of all, each once.
func both(s State, subs []round.Submission, choose func(State, []round.Submission) []round.Submission) []round.Submission {
	if !s.beyond() {
		return choose(s, OfTry(subs, s.Try))
	}
	chosen := choose(s.asDeclared(), s.Counted(subs))
	for _, o := range choose(s, OfTry(subs, s.Try)) {
		if !slices.ContainsFunc(chosen, func(c round.Submission) bool { return c.ID == o.ID }) {
			chosen = append(chosen, o)
		}
	}
	return chosen
}

// Decide is the verdict as a function of the trial and its rounds.
func Decide(s State, subs []round.Submission) Finished {
	if !s.beyond() {
		return decide(s, OfTry(subs, s.Try))
	}
	f, later := decide(s.asDeclared(), s.Counted(subs)), decide(s, OfTry(subs, s.Try))
	f.AgentDuration = later.AgentDuration // with what it has spent in all that time
	f.Extended = &Extended{
		Declared: s.Extension.Declared, Deadline: s.Deadline, Status: later.Status, Reason: later.Reason, Detail: later.Detail,
		Best: later.Best, Private: later.Private, Submissions: later.Submissions, TimedOut: later.TimedOut,
	}
	return f
}
