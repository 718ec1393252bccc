package judge

import (
	"context"
	"fmt"
	"slices"

	"github.com/assayd/assayd/runtime/judge/scoring"
)

// Look looks at each image that rounds of the trial are judged in, unless that was done, so
// that what stands in the way of all of them is known before there are any. What is wrong with
// the task is an *sandbox.ImageError; any other error is one of the machinery.
func (j *Judge) Look(ctx context.Context, trial string) error {
	s := j.session(trial)
	if s == nil {
		return fmt.Errorf("look at the judge images of trial %s: it has no session", trial)
	}
	for _, c := range s.containers() {
		if _, err := j.profile(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// mayFail says of a test whether its failure may be expected: the judge's own files have to say
// so and, where a reference run has shown outcomes, that run.
func (g *grading) mayFail(name string) bool {
	if g.session.Outcomes && !slices.Contains(g.session.Expected, name) {
		return false
	}
	return scoring.AllowsFailure(g.profile.Expecting, name)
}

// Expects reports whether the judge's files may have a test that the trial's task declares
// fail as expected. It is known once the images were looked at.
func (j *Judge) Expects(ctx context.Context, trial string) (bool, error) {
	s := j.session(trial)
	if s == nil || scoring.ByCommands(s.Task) || s.Task.Judge.Staged() || s.Task.Judge.Game != "" {
		return false, nil
	}
	p, err := j.profile(ctx, s)
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(scoring.DeclaredTests(s.Task), func(name string) bool { return scoring.AllowsFailure(p.Expecting, name) }), nil
}
