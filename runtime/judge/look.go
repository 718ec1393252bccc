package judge

import (
	"context"
	"errors"
	"fmt"

	"github.com/assayd/assayd/runtime/task"
)

// Unfit says that nothing can be judged in an image as the task has it. Its author has to mend
// that: it is so for each submission.
type Unfit struct {
	Attribute string // what of the task does not go with the image: "judge.user", "private.context"
	error
}

// Unwrap gives the cause.
func (u *Unfit) Unwrap() error { return u.error }

// Look looks at each image that rounds of the trial are judged in, unless that was done, so
// that what stands in the way of all of them is known before there are any. What is wrong with
// the task is an *Unfit; any other error is one of the machinery.
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

// attributeOf says where in a task a tree stands that is laid over an image.
func attributeOf(t task.Task, tree task.Tree) string {
	if p := t.Private; p != nil && p.Context == tree {
		return "private.context"
	}
	return "judge.stage"
}

// rejected reports whether an engine that works did not take what was to be copied into a
// container: it does not go with what is there.
func rejected(ctx context.Context, err error) bool {
	_, ours := errors.AsType[*sourceError](err)
	return err != nil && ctx.Err() == nil && !machinery(err) && !ours
}
