package trial

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/fault"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/judge/sandbox"
	"github.com/assayd/assayd/runtime/trial/reference"
)

// sanity has the tree judged as it is before any agent touches it: what is to be made to
// pass has to fail, and what must not break has to pass. Once for all trials of an execution
// with the same judge.
func (m *Machine) sanity(ctx context.Context, s State) (State, []Effect, error) {
	verdict, err := m.host.sane(ctx, s, func() (reference.Sanity, error) { return m.askSanity(ctx, s) })
	fault.Reached(fault.SanityKnown)
	switch {
	case err != nil:
		return m.unlooked(ctx, s, err)
	case verdict.Trouble != "":
		return fail(s, InfraError, ReasonJudge, errors.New(verdict.Trouble)), nil, nil
	case verdict.NotRun != "":
		err := m.host.at(errors.New(verdict.NotRun), "benchmark", s.Cell.Task.Benchmark, s.Cell.Task.Name, "judge.command", "judge.stage", "judge")
		return fail(s, TestError, ReasonJudge, err), nil, nil
	case verdict.Offence != "":
		err := m.host.at(errors.New(verdict.Offence), "benchmark", s.Cell.Task.Benchmark, s.Cell.Task.Name, "fail_to_pass", "pass_to_pass")
		return fail(s, SanityFail, ReasonSanity, err), nil, nil
	}
	s.Phase = Create
	return s, nil, nil
}

// looked has the judge look at its images, before an agent works for hours and nothing of it
// can be judged.
func (m *Machine) looked(ctx context.Context, s State) error {
	m.openSession(s)
	return m.host.Judge.Look(ctx, s.ID)
}

// unlooked decides what it means that nothing can be judged yet: the task's author has to mend
// it, or it is waited for.
func (m *Machine) unlooked(ctx context.Context, s State, err error) (State, []Effect, error) {
	if ctx.Err() != nil || container.Unavailable(err) || errors.Is(err, round.ErrBusy) || ownTrouble(err) {
		return s, nil, err
	}
	if unsound, ok := errors.AsType[*sandbox.ImageError](err); ok {
		err = m.host.at(err, "benchmark", s.Cell.Task.Benchmark, s.Cell.Task.Name, unsound.Attribute, "judge")
		return fail(s, SetupError, ReasonSetup, err), nil, nil
	}
	if m.waits(s) {
		return s, nil, err
	}
	return fail(s, InfraError, ReasonJudge, err), nil, nil
}

// sane asks once for all trials that share the answer.
func (h Host) sane(ctx context.Context, s State, ask func() (reference.Sanity, error)) (reference.Sanity, error) {
	if h.Sane == nil {
		return ask()
	}
	return h.Sane(ctx, s, sanityKey(s), ask)
}

// sanityKey identifies what decides how an untouched tree is judged.
func sanityKey(s State) string {
	t := s.Cell.Task
	b, err := json.Marshal([]any{ReferenceKey(s), t.FailToPass, t.PassToPass, t.Judge.Expect, asJudged(s).Judge.Timeout})
	if err != nil {
		panic(fmt.Sprintf("encode sanity check: %v", err)) // plain data always encodes
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

func (m *Machine) askSanity(ctx context.Context, s State) (out reference.Sanity, err error) {
	m.openSession(s)
	sub, err := m.host.Judge.Submit(ctx, s.ID, round.SubmitRequest{Kind: round.KindSanity, Key: "sanity"})
	if err != nil {
		return out, err
	}
	fault.Reached(fault.SanityAsked)
	if sub, err = m.host.Judge.Wait(ctx, sub.ID); err != nil {
		return out, err
	}
	return reference.SanityOf(s.Cell.Task, *sub.Report), nil
}
