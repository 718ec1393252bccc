package trial

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/fault"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/patch"
	"github.com/assayd/assayd/runtime/trial/tryrounds"
	"github.com/assayd/assayd/runtime/trial/worktree"
)

// snapshotTime bounds one snapshot, and with it how long an agent is frozen.
const snapshotTime = 2 * time.Minute

// autoEval takes a snapshot from outside and has it judged, unless that tree was judged
// before. A snapshot that cannot be taken is an event, never the trial's end.
func (m *Machine) autoEval(ctx context.Context, s State) (State, []Effect, error) {
	_, err := m.snapshot(ctx, s, round.KindAuto, fmt.Sprintf("auto-%d", s.AutoCount+1))
	if ctx.Err() != nil {
		return s, nil, context.Cause(ctx)
	}
	fault.Reached(fault.AutoTaken)
	s.AutoCount++
	s.NextAuto = nextAuto(s, s.Line.Now())
	if err != nil {
		return s, []Effect{m.happened(s, "auto_eval", err.Error())}, nil
	}
	return s, nil, nil
}

// nextAuto is when the next snapshot is due, zero when there is none before the deadline.
func nextAuto(s State, now time.Time) time.Time {
	if at := now.Add(s.Cell.AutoEval); s.Cell.AutoEval > 0 && !plays(s) && at.Before(s.Deadline) {
		return at
	}
	return time.Time{}
}

// plays reports whether the agent plays a game instead of submitting what it makes.
func plays(s State) bool { return s.Cell.Task.Judge.Game != "" }

// closing ends what the agent may do, takes the last snapshot, and hands it to the judge
// unless that tree was judged. Of a game the sessions are the result, and they end here.
func (m *Machine) closing(ctx context.Context, s State) (State, []Effect, error) {
	if m.handle != nil {
		m.handle.link.OrderEnd()
	}
	m.openSession(s) // after a restart; the judge must know the trial to take its last round
	m.host.Judge.Close(s.ID)
	m.lastWords(ctx, s)
	if plays(s) {
		s.Phase = Grading
		return s, nil, nil
	}
	err := m.halt(ctx, s)
	if err != nil {
		return m.notTaken(ctx, s, err)
	}
	final, err := m.last(ctx, s)
	if err != nil {
		return m.notTaken(ctx, s, err)
	}
	fault.Reached(fault.FinalTaken)
	s = m.lastAsDeclared(s, final)
	s.FinalTaken, s.FinalRound = true, final.Round
	s.Phase = Grading
	return s, nil, nil
}

// unheard reports whether the agent is over and nobody here could tell it so.
func (m *Machine) unheard(s State) bool { return s.Phase == Closing && m.handle == nil }

// halt freezes an agent that a former daemon may not have told to end. What it did since then
// cannot be told apart; it does no more while the last snapshot is tried again and again.
func (m *Machine) halt(ctx context.Context, s State) error {
	f, ok := m.host.Engine.(container.Freezer)
	if !ok || !m.unheard(s) {
		return nil
	}
	_, err := m.freeze(ctx, f, s)
	return err
}

// last has what the agent leaves judged.
func (m *Machine) last(ctx context.Context, s State) (round.Submission, error) {
	if single(s) {
		return m.handIn(ctx, s)
	}
	return m.snapshot(ctx, s, round.KindFinal, "final-1")
}

// lastWords gives the agent's last output a moment to arrive: a guest says that the agent
// has ended after it has sent that.
func (m *Machine) lastWords(ctx context.Context, s State) {
	if m.handle == nil {
		return
	}
	over := time.NewTimer(wordsPatience)
	defer over.Stop()
	for !m.handle.spoken {
		select {
		case msg := <-m.handle.link.Inbox():
			m.handleMessage(s, msg) // the state does not change any more
			m.answer()
		case <-over.C:
			m.handle.spoken = true
		case <-ctx.Done():
			return
		}
	}
}

// notTaken decides what it means that the last snapshot was not accepted. A tree that is
// refused (too big, say) leaves the trial with what was submitted before.
func (m *Machine) notTaken(ctx context.Context, s State, err error) (State, []Effect, error) {
	if ctx.Err() != nil {
		return s, nil, context.Cause(ctx)
	}
	if container.Unavailable(err) || errors.Is(err, round.ErrBusy) || ownTrouble(err) {
		return s, nil, err
	}
	if _, gone := m.host.Engine.Inspect(ctx, s.Container); errors.Is(gone, container.ErrNotFound) {
		return fail(s, InfraError, ReasonGuestLost, gone), nil, nil
	}
	if why, ok := refused(err); ok {
		next, effects := m.withoutFinal(s, why)
		return next, effects, nil
	}
	if _, ok := errors.AsType[*notCopied](err); ok && !errors.Is(err, container.ErrNoSpace) {
		if m.finals++; m.finals < maxAgain {
			return s, nil, err
		}
		next, effects := m.withoutFinal(s, err) // the engine answers, but not about these paths
		return next, effects, nil
	}
	if m.waits(s) {
		return s, nil, err
	}
	return fail(s, InfraError, ReasonJudge, err), nil, nil
}

// refused reports whether the tree itself is why it was not taken, which the agent made so, and
// says so in words for a record.
func refused(err error) (why error, ok bool) {
	if refusal, ok := errors.AsType[*round.Refusal](err); ok {
		return refusal, true
	}
	if unfit, ok := errors.AsType[*patch.NotApplied](err); ok {
		return unfit, true
	}
	return err, errors.Is(err, patch.ErrTooLong)
}

// withoutFinal leaves the trial with what was submitted before.
func (m *Machine) withoutFinal(s State, why error) (State, []Effect) {
	s.Flags = appendOnce(s.Flags, "final_refused")
	s.Phase = Grading
	return s, []Effect{m.happened(s, "final_refused", why.Error())}
}

// notCopied says that the tree of a container could not be read, or not in time.
type notCopied struct{ error }

func (n *notCopied) Unwrap() error { return n.error }

// snapshot streams submit.paths to the judge. The key makes a repeated call spend nothing.
func (m *Machine) snapshot(ctx context.Context, s State, kind round.Kind, key string) (sub round.Submission, err error) {
	err = m.still(ctx, s, func(ctx context.Context, tree io.Reader) error {
		sub, err = m.host.Judge.Submit(ctx, s.ID, round.SubmitRequest{Kind: kind, Key: key, Archive: tree, SkipKnown: true})
		return err
	})
	return sub, err
}

// still freezes the container for the moment of the copy, hands submit.paths over as a tar,
// and lets the container go on; one that may be frozen still is let go on by the next attach.
func (m *Machine) still(ctx context.Context, s State, take func(ctx context.Context, tree io.Reader) error) (err error) {
	copier, ok := m.host.Engine.(container.Copier)
	if !ok {
		return fmt.Errorf("snapshot of trial %s: %w", s.ID, container.ErrUnsupported)
	}
	bounded, cancel := context.WithTimeout(ctx, m.moment)
	defer cancel()
	if f, ok := m.host.Engine.(container.Freezer); ok {
		thaw, ferr := m.freeze(bounded, f, s)
		if ferr != nil {
			m.drop()
			return ferr
		}
		defer func() {
			if terr := thaw(); terr != nil {
				m.drop()
				err = errors.Join(err, terr)
			}
		}()
	}
	// What was accepted before is not read, and that is no failure of the copy.
	err, copied := worktree.Stream(bounded, copier, s.Container, s.Cell.Task, func(tree io.Reader) error { return take(bounded, tree) })
	switch {
	case err == nil:
		return nil
	case copied != nil:
		return &notCopied{fmt.Errorf("copy the tree of trial %s: %w", s.ID, copied)}
	case bounded.Err() != nil && ctx.Err() == nil: // the copy only waited for who reads it
		return &notCopied{fmt.Errorf("take the tree of trial %s within %s: %w", s.ID, m.moment, err)}
	}
	return err
}

// freeze stops a running container in place; the returned function lets it go on, also
// when the context has ended by then, unless its agent is over and may not know.
func (m *Machine) freeze(ctx context.Context, f container.Freezer, s State) (thaw func() error, err error) {
	c, err := m.host.Engine.Inspect(ctx, s.Container)
	if err != nil {
		return nil, err
	}
	if c.Phase != container.PhaseRunning {
		return func() error { return nil }, nil
	}
	if err := f.Freeze(ctx, s.Container); err != nil {
		return nil, fmt.Errorf("freeze trial %s: %w", s.ID, err)
	}
	fault.Reached(fault.TrialFrozen)
	if m.unheard(s) {
		return func() error { return nil }, nil
	}
	return func() error {
		after, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
		defer cancel()
		if err := f.Thaw(after, s.Container); err != nil && !errors.Is(err, container.ErrNotFound) {
			return fmt.Errorf("let trial %s go on: %w", s.ID, err)
		}
		return nil
	}, nil
}

// grading waits until every round of this try has its verdict; those of an earlier one
// were dropped with it.
func (m *Machine) grading(ctx context.Context, s State) (State, []Effect, error) {
	subs, err := m.host.Ledger.Submissions(ctx, s.ID)
	if err != nil {
		return s, nil, err
	}
	for _, sub := range tryrounds.OfTry(subs, s.Try) {
		if sub.State == round.StateJudged || sub.State == round.StateReserved {
			continue
		}
		if _, err := m.host.Judge.Wait(ctx, sub.ID); err != nil {
			return s, nil, err
		}
	}
	next, broken, err := m.brokenJudge(ctx, s)
	switch {
	case err != nil:
		return m.unlooked(ctx, s, err)
	case broken:
		return next, nil, nil
	}
	s.Phase = afterPrivate(s)
	if tryrounds.HasPrivate(s.Cell.Task) {
		s.Phase = Private
	}
	return s, nil, nil
}
