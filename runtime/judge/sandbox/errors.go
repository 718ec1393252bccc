package sandbox

import (
	"context"
	"errors"

	"github.com/assayd/assayd/runtime/task"
)

// ImageError says that nothing can be judged in an image as the task has it. Its author has to mend
// that: it is so for each submission.
type ImageError struct {
	Attribute string // what of the task does not go with the image: "judge.user", "private.context"
	Cause     error
}

func (e *ImageError) Error() string { return e.Cause.Error() }

// Unwrap gives the cause.
func (e *ImageError) Unwrap() error { return e.Cause }

// attributeOf says where in a task a tree stands that is laid over an image.
func attributeOf(t task.Task, tree task.Tree) string {
	if p := t.Private; p != nil && p.Context == tree {
		return "private.context"
	}
	return "judge.stage"
}

// Rejected reports whether an engine that works did not take what was to be copied into a
// container: it does not go with what is there.
func Rejected(ctx context.Context, err error) bool {
	_, ours := errors.AsType[*SourceError](err)
	return err != nil && ctx.Err() == nil && !Machinery(err) && !ours
}

// SourceError is a failure to read what was to be copied into a container: nothing in that
// can be its cause.
type SourceError struct{ Cause error }

func (e *SourceError) Error() string { return e.Cause.Error() }

func (e *SourceError) Unwrap() error { return e.Cause }

// ErrCopied is what the writer of a copy sees when the engine has had enough of it.
var ErrCopied = errors.New("the copy ended")
