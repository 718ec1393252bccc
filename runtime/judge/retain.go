package judge

import (
	"context"
	"fmt"
	"slices"

	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/judge/sandbox"
	"github.com/assayd/assayd/runtime/judge/scoring"
)

// end removes the container that had the last word, or, where the session keeps it, stops it.
// Of the stopped ones only that of the judging which decides so far stays.
func (g *grading) end(ctx context.Context) {
	if g.id == "" || !g.session.Keep || ctx.Err() != nil {
		g.clean(ctx)
		return
	}
	after, cancel := sandbox.CleanupContext(ctx)
	defer cancel()
	if err := g.judge.opts.Engine.Stop(after, g.id, 0); err != nil {
		g.judge.opts.Log.Warn("a judge container could not be kept", "container", g.id, "error", err)
		g.clean(ctx)
		return
	}
	if err := g.judge.prune(after, g.session, true, g.sub.ID); err != nil {
		g.judge.opts.Log.Warn("judge containers that decide nothing could not be removed yet", "trial", g.session.Trial, "error", err)
	}
}

// Retain leaves, of the containers that a trial's judgings left, the one of the judging that
// decides, or none. It waits for judgings that are about to end.
func (j *Judge) Retain(ctx context.Context, trial string, keep bool) error {
	s := j.session(trial)
	if s == nil {
		return nil // it has no image of a judge, and so no container
	}
	s.ending.Lock()
	defer s.ending.Unlock()
	return j.prune(ctx, s, keep, "")
}

// prune removes the containers of a trial's judgings that decide nothing. While judgings
// run, own is the submission of the one that asks. Then prune leaves two kinds of containers
// alone: those of a submission without a verdict, unless it is own, and that of the one that
// decides, which its own judging may be about to stop. own = "" means that no judging runs.
func (j *Judge) prune(ctx context.Context, s *session, keep bool, own string) error {
	all, err := j.opts.Ledger.Submissions(ctx, s.Trial)
	if err != nil {
		return fmt.Errorf("list submissions of trial %s: %w", s.Trial, err)
	}
	found, err := j.opts.Engine.Observe(ctx, j.opts.Owner)
	if err != nil {
		return fmt.Errorf("look for judge containers of trial %s: %w", s.Trial, err)
	}
	decides := deciding(s, all)
	for _, c := range found {
		id := c.Labels[sandbox.LabelSubmission]
		if c.Labels[container.LabelTrial] != s.Trial || c.Labels[container.LabelRole] != container.RoleJudge || id == "" {
			continue
		}
		if keep && id == decides && (own != "" || c.Phase == container.PhaseExited) {
			continue
		}
		judged := slices.ContainsFunc(all, func(o round.Submission) bool { return o.ID == id && o.State == round.StateJudged })
		if judged || id == own || !keep {
			j.host.Remove(ctx, c.ID)
		}
	}
	return nil
}

// deciding is the id of the submission whose judging decides what the session's try is worth:
// that of the best round by the private set, where there is one, else of the best round. Where
// no round counts it is the last one that was judged. "" = none was.
func deciding(s *session, all []round.Submission) string {
	all = slices.DeleteFunc(slices.Clone(all), func(o round.Submission) bool { return o.Try != s.Try || o.State != round.StateJudged })
	best, ok := scoring.Best(s.Task.Judge, all)
	if !ok {
		for _, o := range all {
			tells := !o.Kind.Internal() && o.Report != nil && !o.Report.Cached && o.Report.Status != round.StatusError
			if tells && !o.JudgedAt.Before(best.JudgedAt) {
				best = o
			}
		}
		return best.ID
	}
	for _, o := range all {
		if o.Kind == round.KindPrivate && o.Key == PrivateKey(best.Round) {
			return o.ID
		}
	}
	return best.ID
}
