package trial

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/assayd/assayd/runtime/guest/protocol"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/trial/mixedruns"
	"github.com/assayd/assayd/runtime/trial/tryrounds"
)

// FlagExtended marks a trial whose deadline a user has moved to a later time.
const FlagExtended = "extended"

// declaredSlack is how late the tree of the declared deadline may be taken. What the agent makes later is not told
// apart from what it had then.
const declaredSlack = 30 * time.Second

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
	Patch       *FileRecord `json:"patch,omitempty"` // what the agent changed, in single mode
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
	case !protocol.MovesDeadlines(s.GuestVersion):
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
	switch {
	case !x.Until.After(s.Deadline) || s.MayExtend() != "":
		return s, nil // a former daemon has done so
	case !s.Line.Now().Before(s.Deadline): // the guest ends its agent by itself
		return s, []Effect{m.happened(s, "not_extended", "the time was over before it was extended: "+x.Why)}
	}
	if s.Extension == nil {
		s.Extension = &tryrounds.Extension{Declared: s.Deadline}
	}
	s.Deadline, s.Flags = x.Until, appendOnce(s.Flags, FlagExtended)
	if s.NextAuto.IsZero() {
		s.NextAuto = nextAuto(s, s.Line.Now())
	}
	m.openSession(s)
	l := m.handle
	m.acks = append(m.acks, func() { l.link.Due(s.Deadline) }) // when it is stored
	return s, []Effect{m.happened(s, FlagExtended, x.Why)}
}

// changed is a copy of the state's extension to change: the state that the caller has stays as it is.
func (s *State) changed() *tryrounds.Extension {
	x := *s.Extension
	s.Extension = &x
	return &x
}

// declares is when something is to be done about the declared deadline of an extended trial; zero = nothing is. The agent's
// end may be heard of a moment late, as at any deadline.
func (s State) declares() time.Time {
	switch x := s.Extension; {
	case x == nil || x.Taken && x.Passed:
		return time.Time{}
	case x.Taken || single(s): // which has no tree but the last
		return x.Declared.Add(endPatience)
	default:
		return x.Declared
	}
}

// declared takes the tree of an extended trial at the deadline that its spec declares, and notes that the agent goes on.
func (m *Machine) declared(ctx context.Context, s State) (State, []Effect, error) {
	late := s.Line.Now().Sub(s.Extension.Declared)
	if s.Extension.Taken || single(s) {
		x := s.changed()
		x.Taken, x.Passed, x.Outage = true, true, m.outage(false)
		return s, nil, nil
	}
	sub, err := m.asOfDeclared(ctx, s, late)
	_, refused := refused(err)
	switch {
	case ctx.Err() != nil:
		return s, nil, context.Cause(ctx)
	case err == nil:
		x := s.changed()
		x.Taken, x.Round = true, sub.Round
		return s, nil, nil
	case errors.Is(err, errTooLate) || refused && !errors.Is(err, round.ErrBusy):
		s.changed().Taken = true
		return s, []Effect{m.happened(s, "not_taken", "the tree at the declared deadline was not taken: "+err.Error())}, nil
	}
	return s, nil, err // it is tried again until it is too late
}

// errTooLate says that the tree of the declared deadline cannot be told from what came later.
var errTooLate = errors.New("the daemon could not look in time")

// declaredKey is that of the round with the tree of the declared deadline.
const declaredKey = "declared-1"

// asOfDeclared takes the tree of the declared deadline, or finds that a former daemon has.
func (m *Machine) asOfDeclared(ctx context.Context, s State, late time.Duration) (round.Submission, error) {
	if late <= declaredSlack {
		return m.snapshot(ctx, s, round.KindFinal, declaredKey)
	}
	subs, err := m.host.Ledger.Submissions(ctx, s.ID)
	if err != nil {
		return round.Submission{}, err
	}
	if i := slices.IndexFunc(subs, func(o round.Submission) bool { return o.Try == s.Try && o.Key == declaredKey }); i >= 0 {
		return subs[i], nil
	}
	return round.Submission{}, fmt.Errorf("%w: %s have passed", errTooLate, late.Round(time.Second))
}

// lastAsDeclared takes the last tree of an agent that has ended right at the declared deadline for the one of then.
func (m *Machine) lastAsDeclared(s State, last round.Submission) State {
	if s.Extension == nil || s.Extension.Round != "" || single(s) || s.EndedAt.After(s.Extension.Declared.Add(declaredSlack)) {
		return s
	}
	x := s.changed()
	x.Taken, x.Round = true, last.Round
	return s
}

// beyond reports whether the agent has worked on beyond the declared deadline.
func (s State) beyond() bool {
	return s.Extension != nil && s.EndedAt.After(s.Extension.Declared)
}

// Counted are the rounds of a trial's present try that its numbers come from, and those of the judge's own: of an
// extended trial those until the declared deadline.
func (s State) Counted(subs []round.Submission) []round.Submission {
	return tryrounds.Counted(subs, s.Try, s.Extension, s.EndedAt)
}

// Beyond reports whether a round of the trial was made beyond the declared deadline.
func (s State) Beyond(o round.Submission) bool { return s.Extension.Beyond(o, s.EndedAt) }

// asDeclared is the trial as it was at the declared deadline, where its agent went on. What broke later takes nothing of
// it; any other failure says what became of it, before and after.
func (s State) asDeclared() State {
	x := s.Extension
	if s.Failure != "" && !x.Broke {
		return s
	}
	s.Failure, s.Settled = "", false
	s.Reason, s.Detail, s.TimedOut, s.Crashed = ReasonDeadline, "", true, false
	s.FinalRound, s.EndedAt = x.Round, x.Declared
	if x.Passed {
		s.Outage = x.Outage
	}
	if s.Mixed != nil {
		runs := *s.Mixed
		runs.Rounds = slices.DeleteFunc(slices.Clone(runs.Rounds), func(r mixedruns.Round) bool { return r.Later })
		s.Mixed = &runs
	}
	return s
}

// both is what choose says of the rounds that count and, of a trial whose agent went on, of all, each once.
func both(s State, subs []round.Submission, choose func(State, []round.Submission) []round.Submission) []round.Submission {
	if !s.beyond() {
		return choose(s, tryrounds.OfTry(subs, s.Try))
	}
	chosen := choose(s.asDeclared(), s.Counted(subs))
	for _, o := range choose(s, tryrounds.OfTry(subs, s.Try)) {
		if !slices.ContainsFunc(chosen, func(c round.Submission) bool { return c.ID == o.ID }) {
			chosen = append(chosen, o)
		}
	}
	return chosen
}

// Decide is the verdict as a function of the trial and its rounds.
func Decide(s State, subs []round.Submission) Finished {
	if !s.beyond() {
		return decide(s, tryrounds.OfTry(subs, s.Try))
	}
	f, later := decide(s.asDeclared(), s.Counted(subs)), decide(s, tryrounds.OfTry(subs, s.Try))
	if s.Failure != "" && !s.Extension.Broke {
		return f
	}
	f.AgentDuration = later.AgentDuration // with what it has spent in all that time
	for _, flag := range later.Flags {    // they make nothing better
		f.Flags = appendOnce(f.Flags, flag)
	}
	f.Extended = &Extended{
		Declared: s.Extension.Declared, Deadline: s.Deadline, Status: later.Status, Reason: later.Reason, Detail: later.Detail,
		Best: later.Best, Private: later.Private, Submissions: later.Submissions, TimedOut: later.TimedOut,
	}
	return f
}
