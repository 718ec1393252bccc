package trial

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/decoy/mixed"
	"github.com/assayd/assayd/runtime/fault"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/trial/mixedruns"
	"github.com/assayd/assayd/runtime/trial/tryrounds"
)

// Flags of a trial that its mixed runs raise.
const (
	// FlagUnstable marks a trial whose deciding round passed a test that did not pass when the
	// same archive was judged again.
	FlagUnstable = "unstable"
	// FlagDecoyPassed marks a trial in which one changed test passed, which is not enough to
	// call it tampered with.
	FlagDecoyPassed = "decoy_passed"
)

// foresee asks once for what the mixed runs need, while the agent works.
func (m *Machine) foresee(s State) {
	if m.asked || m.host.Foresee == nil || s.Phase != Running || !tryrounds.WantsMixed(s.Cell.Task) {
		return
	}
	m.asked = true
	m.host.Foresee(s, func(ctx context.Context) (Subject, error) { return m.subject(ctx, s) })
}

// mixedRuns makes one step: it draws, or judges what is drawn, and goes on to the verdict
// when nothing is left to do.
func (m *Machine) mixedRuns(ctx context.Context, s State) (State, []Effect, error) {
	m.openSession(s) // after a restart
	m.host.Judge.Close(s.ID)
	if s.Mixed == nil {
		return m.drawn(ctx, s)
	}
	next, done, err := m.mixing(s).Step(ctx, mixedTrial(s), *s.Mixed)
	switch {
	case err != nil:
		return s, nil, err
	case done:
		s.Phase = Verdict
		return s, nil, nil
	}
	s.Mixed = &next
	return s, nil, nil
}

// mixing is by what the rounds of a trial are judged again.
func (m *Machine) mixing(s State) mixedruns.Judging {
	by := mixedruns.Judging{Judge: m.host.Judge, Ledger: m.host.Ledger, OpenBlob: m.host.OpenBlob}
	if m.host.Control != nil {
		by.Solution = func(ctx context.Context) (func(context.Context, map[string][]byte) (mixed.Observed, error), error) {
			of, err := m.subject(ctx, s)
			return func(ctx context.Context, changed map[string][]byte) (mixed.Observed, error) {
				return m.host.Control(ctx, of, changed)
			}, err
		}
	}
	return by
}

func mixedTrial(s State) mixedruns.Trial {
	return mixedruns.Trial{ID: s.ID, Try: s.Try, Task: s.Cell.Task, Line: s.Line}
}

// drawn begins: it says which rounds are judged again and draws their runs.
func (m *Machine) drawn(ctx context.Context, s State) (State, []Effect, error) {
	runs := mixedruns.Runs{}
	subs, err := m.host.Ledger.Submissions(ctx, s.ID)
	if err != nil {
		return s, nil, err
	}
	rounds := both(s, subs, func(s State, subs []round.Submission) []round.Submission {
		return tryrounds.ForMixed(s.Cell.Task, subs)
	})
	switch {
	case len(rounds) == 0:
		runs.None = "no round counts"
	case m.host.Decoys == nil:
		runs.None = "decoys are not made here"
	default:
		if runs, err = m.draw(ctx, s, rounds); err != nil {
			if ctx.Err() != nil || container.Unavailable(err) || errors.Is(err, round.ErrBusy) || ownTrouble(err) || m.waits(s) {
				return s, nil, err
			}
			runs = mixedruns.Runs{None: "no decoys could be made: " + err.Error()}
		}
	}
	s.Mixed = &runs
	fault.Reached(fault.MixedDrawn)
	return s, nil, nil
}

func (m *Machine) draw(ctx context.Context, s State, rounds []round.Submission) (mixedruns.Runs, error) {
	of, err := m.subject(ctx, s)
	if err != nil {
		return mixedruns.Runs{}, err
	}
	known, err := m.host.Decoys(ctx, of)
	if err != nil {
		return mixedruns.Runs{}, err
	}
	return m.mixing(s).Draw(ctx, mixedTrial(s), known, rounds, s.Beyond)
}

// applyMixed holds what the mixed runs show against a trial. A round that they call tampered
// with counts no more than one whose canary shows it, and one that does not always pass
// resolves nothing.
func applyMixed(f *Finished, s State) {
	f.Decoys = mixedruns.RecordOf(s.Mixed, s.Cell.Task, s.Cell.Agent.Model)
	if s.Mixed == nil {
		return
	}
	for _, r := range s.Mixed.Rounds {
		switch v := r.Verdict; {
		case v == nil:
		case v.Tampered != "":
			f.Flags = appendOnce(f.Flags, "tampered")
		case v.Passed > 0:
			f.Flags = appendOnce(f.Flags, FlagDecoyPassed)
		}
	}
	if f.Best == nil {
		return
	}
	v := s.Mixed.Verdict(f.Best.Round)
	switch {
	case v == nil:
	case v.Tampered != "":
		if f.Status == Resolved {
			f.Status = Unresolved
		}
		f.Detail = "round " + f.Best.Round + " was tampered with: " + v.Tampered
		f.Best, f.Private, f.FailToPass, f.PassToPass = nil, nil, []TestRecord{}, []TestRecord{}
	case v.Hides() && f.Status == Resolved:
		f.Status, f.Detail = Unresolved, fmt.Sprintf("round %s showed no test in %d mixed runs in which the task's solution shows them", f.Best.Round, v.Silent)
		f.Flags = appendOnce(f.Flags, FlagUnstable)
	case len(v.Unstable) > 0 && f.Status == Resolved:
		f.Status, f.Detail = Unresolved, "round "+f.Best.Round+" does not always pass: "+mixedruns.Unstable(*v)
		f.Flags = appendOnce(f.Flags, FlagUnstable)
	}
}

// Trusted leaves out the rounds of a try that mixed runs have shown to be tampered with, and
// those of the same tree.
func (f Finished) Trusted(subs []round.Submission) []round.Submission {
	if f.Decoys == nil {
		return subs
	}
	forged := map[string]bool{}
	for _, r := range f.Decoys.Rounds {
		for _, sub := range subs {
			if r.Tampered != "" && sub.Round == r.Round {
				forged[sub.Archive] = true
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(subs), func(s round.Submission) bool { return forged[s.Archive] && !s.Kind.Internal() })
}
