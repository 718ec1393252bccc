package trial

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/decoy/mixed"
	"github.com/assayd/assayd/runtime/fault"
	"github.com/assayd/assayd/runtime/judge"
	"github.com/assayd/assayd/runtime/judge/parser"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/judge/scoring"
	"github.com/assayd/assayd/runtime/task"
)

// mixedTime is how long the mixed runs of a trial may take, beyond twice the time that the
// round itself took for each of them.
const mixedTime = 20 * time.Minute

// Decoys are those of one content.
type Decoys struct {
	Digest string // of the blob that holds the set; "" = there are none
	Set    mixed.Set
}

// MixedRuns is what a trial knows of its mixed runs. What is drawn is stored before it is
// laid, so that no crash draws again.
type MixedRuns struct {
	Decoys string       `json:",omitempty"` // blob of the set that the draws are of
	None   string       `json:",omitempty"` // why there are none
	Until  time.Time    `json:",omitzero"`  // when what is not judged is given up
	Rounds []MixedRound `json:",omitempty"`
	Cut    string       `json:",omitempty"` // why not all runs were made

	// What the set says of itself, for the trial's record.
	Checked   int             `json:",omitempty"`
	Eligible  int             `json:",omitempty"`
	Made      int             `json:",omitempty"`
	Unchecked []UncheckedTest `json:",omitempty"`
	Flaky     []string        `json:",omitempty"`
}

// MixedRound is one round that is judged again.
type MixedRound struct {
	Round   string
	Later   bool `json:",omitempty"` // it only counts for what an extended trial came to beyond its declared deadline
	Draws   []mixed.Draw
	First   int            // of the draws, those that were made before any outcome was known
	Void    []VoidRun      `json:",omitempty"` // in which no test was seen
	Verdict *mixed.Verdict `json:",omitempty"` // nil = not all runs are judged
}

// VoidRun is a mixed run in which no test was seen.
type VoidRun struct {
	Run   int // of the draws, from 0
	Fault mixed.Fault
}

// wantsMixed reports whether a task has its deciding rounds judged again.
func wantsMixed(t task.Task) bool { return t.Judge.Decoys > 0 && t.Judge.Game == "" }

// foresee asks once for what the mixed runs need, while the agent works.
func (m *Machine) foresee(s State) {
	if m.asked || m.host.Foresee == nil || s.Phase != Running || !wantsMixed(s.Cell.Task) {
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
	at := slices.IndexFunc(s.Mixed.Rounds, func(r MixedRound) bool { return r.Verdict == nil })
	if at < 0 {
		s.Phase = Verdict
		return s, nil, nil
	}
	runs := *s.Mixed // the state that the caller has stays as it is
	runs.Rounds = slices.Clone(runs.Rounds)
	s.Mixed = &runs
	round := &runs.Rounds[at]
	set, err := m.decoySet(runs.Decoys)
	if err != nil {
		return s, nil, err
	}
	verdict, void, cut, err := m.judgeMixed(ctx, s, set, *round)
	switch {
	case err != nil:
		return s, nil, err
	case cut != "":
		runs.Cut = cut
	case len(void) > 0 && !verdict.Hides(): // one a step: what is found out is stored
		fault, cut, err := m.faultOf(ctx, s, set, round.Draws[void[0]])
		if err != nil {
			return s, nil, err
		}
		round.Void = append(slices.Clone(round.Void), VoidRun{void[0], fault})
		if runs.Cut = cut; cut == "" {
			replaceVoid(round, set, s.Cell.Task.Judge.Decoys)
			return s, nil, nil
		}
	case verdict.Again:
		round.Draws = append(slices.Clone(round.Draws), mixed.Draws(set, s.Cell.Task.Judge.Decoys)...)
		return s, nil, nil
	case verdict.Runs < s.Cell.Task.Judge.Decoys:
		if laid := laidVoid(*round); laid > 0 {
			runs.Cut = fmt.Sprintf("in %d mixed runs no test was seen, with the task's solution neither: %d count", laid, verdict.Runs)
		}
	}
	round.Verdict = &verdict
	return s, nil, nil
}

// drawn begins: it says which rounds are judged again and draws their runs.
func (m *Machine) drawn(ctx context.Context, s State) (State, []Effect, error) {
	runs := &MixedRuns{}
	subs, err := m.host.Ledger.Submissions(ctx, s.ID)
	if err != nil {
		return s, nil, err
	}
	rounds := both(s, subs, mixedRounds)
	switch {
	case len(rounds) == 0:
		runs.None = "no round counts"
	case m.host.Decoys == nil:
		runs.None = "decoys are not made here"
	default:
		if err := m.draw(ctx, s, runs, rounds); err != nil {
			if ctx.Err() != nil || container.Unavailable(err) || errors.Is(err, round.ErrBusy) || ownTrouble(err) || m.waits(s) {
				return s, nil, err
			}
			*runs = MixedRuns{None: "no decoys could be made: " + err.Error()}
		}
	}
	s.Mixed = runs
	fault.Reached(fault.MixedDrawn)
	return s, nil, nil
}

func (m *Machine) draw(ctx context.Context, s State, runs *MixedRuns, rounds []round.Submission) error {
	of, err := m.subject(ctx, s)
	if err != nil {
		return err
	}
	known, err := m.host.Decoys(ctx, of)
	if err != nil {
		return err
	}
	runs.Decoys, runs.None, runs.Cut = known.Digest, known.Set.None, known.Set.Cut
	runs.Checked, runs.Unchecked, runs.Flaky = known.Set.Checked(), uncheckedOf(known.Set), known.Set.Flaky
	runs.Eligible, runs.Made = known.Set.Eligible(), known.Set.Made()
	if len(known.Set.Groups) == 0 {
		return nil
	}
	took := time.Duration(0)
	for _, round := range rounds {
		passed, err := m.passedIn(ctx, s, round.ID)
		if err != nil {
			return err
		}
		if !known.Set.Touches(passed, s.Cell.Task.FailToPass) {
			continue // nothing that a decoy stands for passed: there is nothing to doubt
		}
		n := s.Cell.Task.Judge.Decoys
		took += time.Duration(4*n*int(round.Report.DurationMS)) * time.Millisecond
		runs.Rounds = append(runs.Rounds, MixedRound{Round: round.Round, Later: s.Beyond(round), Draws: mixed.Draws(known.Set, n), First: n})
	}
	runs.Until = s.Line.Now().Add(mixedTime + took)
	return nil
}

// mixedRounds are the rounds of a try that are judged again: the best one, and the first
// with full marks if that is another tree.
func mixedRounds(s State, subs []round.Submission) []round.Submission {
	best, ok := scoring.Best(s.Cell.Task.Judge, subs)
	if !ok {
		return nil
	}
	rounds := []round.Submission{best}
	first := slices.IndexFunc(subs, func(o round.Submission) bool {
		return !o.Kind.Internal() && o.State == round.StateJudged && resolves(o.Report, true)
	})
	if first >= 0 && subs[first].Archive != best.Archive {
		rounds = append(rounds, subs[first])
	}
	return rounds
}

// judgeMixed has the drawn runs of a round judged and says what they show. void are the draws in
// which no test was seen and nobody knows why. cut says why not all were judged: the time is over.
func (m *Machine) judgeMixed(ctx context.Context, s State, set mixed.Set, drawn MixedRound) (v mixed.Verdict, void []int, cut string, err error) {
	subs, err := m.host.Ledger.Submissions(ctx, s.ID)
	if err != nil {
		return v, nil, "", err
	}
	i := slices.IndexFunc(subs, func(o round.Submission) bool { return o.Round == drawn.Round && o.Try == s.Try })
	if i < 0 {
		return v, nil, "", fmt.Errorf("judge round %s of trial %s again: there is none", drawn.Round, s.ID)
	}
	passed, err := m.passedIn(ctx, s, subs[i].ID)
	if err != nil {
		return v, nil, "", err
	}
	within, cancel := m.mixedTime(ctx, s)
	defer cancel()
	asked, err := m.askMixed(within, s, set, drawn, subs[i])
	if err != nil && !mixedOver(ctx, within) {
		return v, nil, "", err
	}
	var runs []mixed.Run
	for n, sub := range asked {
		judged, err := m.host.Judge.Wait(within, sub.ID)
		fault.Reached(fault.MixedJudged)
		switch {
		case err != nil && mixedOver(ctx, within):
			continue // others may be judged
		case err != nil:
			return v, nil, "", err
		}
		run := mixed.Run{Draw: drawn.Draws[n], Observed: Observe(s.Cell.Task, *judged.Report)}
		if at := slices.IndexFunc(drawn.Void, func(v VoidRun) bool { return v.Run == n }); at >= 0 {
			run.Fault = drawn.Void[at].Fault
		} else if run.Void() && m.host.Control != nil {
			void = append(void, n)
		}
		runs = append(runs, run)
	}
	v = mixed.Judge(set, passed, runs, drawn.First)
	if len(runs) < len(drawn.Draws) {
		cut = fmt.Sprintf("the time was over after %d of %d runs", len(runs), len(drawn.Draws))
	}
	return v, void, cut, nil
}

// mixedTime bounds what the mixed runs of a trial may take from now on.
func (m *Machine) mixedTime(ctx context.Context, s State) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, max(0, s.Mixed.Until.Sub(s.Line.Now())), errMixedOver)
}

// faultOf has the solution judged with what a void run laid.
func (m *Machine) faultOf(ctx context.Context, s State, set mixed.Set, draw mixed.Draw) (fault mixed.Fault, cut string, err error) {
	files, err := set.Lay(draw)
	if err != nil {
		return "", "", fmt.Errorf("judge the solution of trial %s: %w", s.ID, err)
	}
	of, err := m.subject(ctx, s)
	if err != nil {
		return "", "", err
	}
	within, cancel := m.mixedTime(ctx, s)
	defer cancel()
	control, err := m.host.Control(within, of, files)
	switch {
	case err != nil && mixedOver(ctx, within):
		return "", "the time was over before it was known why no test was seen in a mixed run", nil
	case err != nil:
		return "", "", err
	case (mixed.Run{Observed: control}).Void():
		return mixed.FaultLaid, "", nil
	}
	return mixed.FaultSubmitted, "", nil
}

// laidVoid counts the void runs that no submission is at fault for.
func laidVoid(round MixedRound) (n int) {
	for _, v := range round.Void {
		if v.Fault == mixed.FaultLaid {
			n++
		}
	}
	return n
}

// replaceVoid draws a pair of runs more where all void runs so far are in pairs that have been
// replaced, up to half of the runs that are wanted. They are no answer to what others showed.
func replaceVoid(round *MixedRound, set mixed.Set, wanted int) {
	replaced := (len(round.Draws) - wanted) / 2
	if len(round.Draws) == round.First && replaced < wanted/4 && 2*replaced < len(round.Void) {
		round.Draws = append(slices.Clone(round.Draws), mixed.Draws(set, 2)...)
		round.First = len(round.Draws)
	}
}

var errMixedOver = errors.New("the time of the mixed runs is over")

// mixedOver reports whether it was the time of the mixed runs that ended the inner context.
func mixedOver(ctx, within context.Context) bool {
	return ctx.Err() == nil && errors.Is(context.Cause(within), errMixedOver)
}

// askMixed asks for all runs that a round has drawn; those that were asked before are not
// asked again.
func (m *Machine) askMixed(ctx context.Context, s State, set mixed.Set, round MixedRound, of round.Submission) (asked []round.Submission, err error) {
	for n, draw := range round.Draws {
		if ctx.Err() != nil {
			return asked, context.Cause(ctx)
		}
		files, err := set.Lay(draw)
		if err != nil {
			return asked, fmt.Errorf("judge round %s of trial %s again: %w", of.Round, s.ID, err)
		}
		sub, err := m.host.Judge.Mixed(ctx, s.ID, of, judge.MixedKey(of.Round, n+1), files)
		if err != nil {
			return asked, err
		}
		asked = append(asked, sub)
		fault.Reached(fault.MixedAsked)
	}
	return asked, nil
}

// passedIn are the declared tests that passed in a round.
func (m *Machine) passedIn(ctx context.Context, s State, id string) (map[string]bool, error) {
	whole, err := m.host.Ledger.Submission(ctx, id)
	if err != nil {
		return nil, err
	}
	passed := map[string]bool{}
	for name, o := range Observe(s.Cell.Task, *whole.Report).Tests {
		passed[name] = o.Passed
	}
	return passed, nil
}

// maxDecoys bounds the blob of a set: the hidden files that it changes are in it.
const maxDecoys = 32 << 20

// decoySet reads a set that is pinned; no digest is an empty one.
func (m *Machine) decoySet(digest string) (set mixed.Set, err error) {
	if digest == "" {
		return set, nil
	}
	blob, err := m.host.OpenBlob(digest)
	if err != nil {
		return set, fmt.Errorf("read decoys: %w", err)
	}
	data, err := io.ReadAll(io.LimitReader(blob, maxDecoys))
	if err = errors.Join(err, blob.Close()); err != nil {
		return set, fmt.Errorf("read decoys: %w", err)
	}
	return mixed.Decode(data)
}

// Observe is what a report shows of the tests that a task declares.
func Observe(t task.Task, r round.Report) mixed.Observed {
	declared := map[string]bool{}
	for _, name := range slices.Concat(t.FailToPass, t.PassToPass, t.Judge.Expect) {
		declared[name] = true
	}
	o := mixed.Observed{Tests: map[string]mixed.Outcome{}, Whole: r.Status == round.StatusOK, TookMS: r.JudgeMS, Tampered: r.Tampered}
	for _, test := range r.Tests {
		if declared[test.Name] {
			o.Tests[test.Name] = mixed.Outcome{Passed: test.Status == parser.Passed, Seen: scoring.Seen(test), Message: test.Message + "\n" + test.Detail}
		}
	}
	return o
}
