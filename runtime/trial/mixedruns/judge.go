package mixedruns

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/assayd/assayd/runtime/decoy/mixed"
	"github.com/assayd/assayd/runtime/fault"
	"github.com/assayd/assayd/runtime/judge"
	"github.com/assayd/assayd/runtime/judge/round"
)

// Step makes one step with runs that are drawn: it judges those of one round, or draws more for it. What
// it returns is to be stored before the next step; done says that nothing is left to do.
func (j Judging) Step(ctx context.Context, t Trial, runs Runs) (next Runs, done bool, err error) {
	at := slices.IndexFunc(runs.Rounds, func(r Round) bool { return r.Verdict == nil })
	if at < 0 {
		return runs, true, nil
	}
	runs.Rounds = slices.Clone(runs.Rounds) // those that the caller has stay as they are
	round := &runs.Rounds[at]
	set, err := j.decoySet(runs.Decoys)
	if err != nil {
		return runs, false, err
	}
	verdict, void, cut, err := j.judgeRound(ctx, t, runs.Until, set, *round)
	switch {
	case err != nil:
		return runs, false, err
	case cut != "":
		runs.Cut = cut
	case len(void) > 0 && !verdict.Hides(): // one a step: what is found out is stored
		fault, cut, err := j.faultOf(ctx, t, runs.Until, set, round.Draws[void[0]])
		if err != nil {
			return runs, false, err
		}
		round.Void = append(slices.Clone(round.Void), VoidRun{void[0], fault})
		if runs.Cut = cut; cut == "" {
			replaceVoid(round, set, t.Task.Judge.Decoys)
			return runs, false, nil
		}
	case verdict.Again:
		round.Draws = append(slices.Clone(round.Draws), mixed.Draws(set, t.Task.Judge.Decoys)...)
		return runs, false, nil
	case verdict.Runs < t.Task.Judge.Decoys:
		if laid := laidVoid(*round); laid > 0 {
			runs.Cut = fmt.Sprintf("in %d mixed runs no test was seen, with the task's solution neither: %d count", laid, verdict.Runs)
		}
	}
	round.Verdict = &verdict
	return runs, false, nil
}

// judgeRound has the drawn runs of a round judged and says what they show. void are the draws in
// which no test was seen and nobody knows why. cut says why not all were judged: the time is over.
func (j Judging) judgeRound(ctx context.Context, t Trial, until time.Time, set mixed.Set, drawn Round) (v mixed.Verdict, void []int, cut string, err error) {
	subs, err := j.Ledger.Submissions(ctx, t.ID)
	if err != nil {
		return v, nil, "", err
	}
	i := slices.IndexFunc(subs, func(o round.Submission) bool { return o.Round == drawn.Round && o.Try == t.Try })
	if i < 0 {
		return v, nil, "", fmt.Errorf("judge round %s of trial %s again: there is none", drawn.Round, t.ID)
	}
	passed, err := j.passedIn(ctx, t, subs[i].ID)
	if err != nil {
		return v, nil, "", err
	}
	within, cancel := timed(ctx, t, until)
	defer cancel()
	asked, err := j.ask(within, t, set, drawn, subs[i])
	if err != nil && !timeOver(ctx, within) {
		return v, nil, "", err
	}
	var runs []mixed.Run
	for n, sub := range asked {
		judged, err := j.Judge.Wait(within, sub.ID)
		fault.Reached(fault.MixedJudged)
		switch {
		case err != nil && timeOver(ctx, within):
			continue // others may be judged
		case err != nil:
			return v, nil, "", err
		}
		run := mixed.Run{Draw: drawn.Draws[n], Observed: Observe(t.Task, *judged.Report)}
		if at := slices.IndexFunc(drawn.Void, func(v VoidRun) bool { return v.Run == n }); at >= 0 {
			run.Fault = drawn.Void[at].Fault
		} else if run.Void() && j.Solution != nil {
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

// timed bounds what the mixed runs of a trial may take from now on.
func timed(ctx context.Context, t Trial, until time.Time) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, max(0, until.Sub(t.Line.Now())), errOver)
}

// faultOf has the solution judged with what a void run laid.
func (j Judging) faultOf(ctx context.Context, t Trial, until time.Time, set mixed.Set, draw mixed.Draw) (fault mixed.Fault, cut string, err error) {
	files, err := set.Lay(draw)
	if err != nil {
		return "", "", fmt.Errorf("judge the solution of trial %s: %w", t.ID, err)
	}
	solution, err := j.Solution(ctx)
	if err != nil {
		return "", "", err
	}
	within, cancel := timed(ctx, t, until)
	defer cancel()
	control, err := solution(within, files)
	switch {
	case err != nil && timeOver(ctx, within):
		return "", "the time was over before it was known why no test was seen in a mixed run", nil
	case err != nil:
		return "", "", err
	case (mixed.Run{Observed: control}).Void():
		return mixed.FaultLaid, "", nil
	}
	return mixed.FaultSubmitted, "", nil
}

// laidVoid counts the void runs that no submission is at fault for.
func laidVoid(round Round) (n int) {
	for _, v := range round.Void {
		if v.Fault == mixed.FaultLaid {
			n++
		}
	}
	return n
}

// replaceVoid draws a pair of runs more where all void runs so far are in pairs that have been
// replaced, up to half of the runs that are wanted. They are no answer to what others showed.
func replaceVoid(round *Round, set mixed.Set, wanted int) {
	replaced := (len(round.Draws) - wanted) / 2
	if len(round.Draws) == round.First && replaced < wanted/4 && 2*replaced < len(round.Void) {
		round.Draws = append(slices.Clone(round.Draws), mixed.Draws(set, 2)...)
		round.First = len(round.Draws)
	}
}

var errOver = errors.New("the time of the mixed runs is over")

// timeOver reports whether it was the time of the mixed runs that ended the inner context.
func timeOver(ctx, within context.Context) bool {
	return ctx.Err() == nil && errors.Is(context.Cause(within), errOver)
}

// ask asks for all runs that a round has drawn; those that were asked before are not
// asked again.
func (j Judging) ask(ctx context.Context, t Trial, set mixed.Set, round Round, of round.Submission) (asked []round.Submission, err error) {
	for n, draw := range round.Draws {
		if ctx.Err() != nil {
			return asked, context.Cause(ctx)
		}
		files, err := set.Lay(draw)
		if err != nil {
			return asked, fmt.Errorf("judge round %s of trial %s again: %w", of.Round, t.ID, err)
		}
		sub, err := j.Judge.Mixed(ctx, t.ID, of, judge.MixedKey(of.Round, n+1), files)
		if err != nil {
			return asked, err
		}
		asked = append(asked, sub)
		fault.Reached(fault.MixedAsked)
	}
	return asked, nil
}

// passedIn are the declared tests that passed in a round.
func (j Judging) passedIn(ctx context.Context, t Trial, id string) (map[string]bool, error) {
	whole, err := j.Ledger.Submission(ctx, id)
	if err != nil {
		return nil, err
	}
	passed := map[string]bool{}
	for name, o := range Observe(t.Task, *whole.Report).Tests {
		passed[name] = o.Passed
	}
	return passed, nil
}

// maxDecoys bounds the blob of a set: the hidden files that it changes are in it.
const maxDecoys = 32 << 20

// decoySet reads a set that is pinned; no digest is an empty one.
func (j Judging) decoySet(digest string) (set mixed.Set, err error) {
	if digest == "" {
		return set, nil
	}
	blob, err := j.OpenBlob(digest)
	if err != nil {
		return set, fmt.Errorf("read decoys: %w", err)
	}
	data, err := io.ReadAll(io.LimitReader(blob, maxDecoys))
	if err = errors.Join(err, blob.Close()); err != nil {
		return set, fmt.Errorf("read decoys: %w", err)
	}
	return mixed.Decode(data)
}
