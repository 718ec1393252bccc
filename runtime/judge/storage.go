package judge

import (
	"context"
	"errors"
	"slices"
	"syscall"
)

// unwritable reports whether an error says that the judge's own disk is full, read-only or
// broken. No submission is to blame for that, and it is waited for.
func unwritable(err error) bool {
	return slices.ContainsFunc([]error{syscall.ENOSPC, syscall.EDQUOT, syscall.EROFS, syscall.EIO},
		func(cause error) bool { return errors.Is(err, cause) })
}

// unstored turns the error of a ledger or of blobs that could not store a submission into a
// refusal: the sender may come again, and has spent nothing. A refusal stays what it is.
func (j *Judge) unstored(ctx context.Context, trial string, err error) error {
	if _, ok := errors.AsType[*Refusal](err); ok || ctx.Err() != nil {
		return err
	}
	j.opts.Log.Warn("a submission could not be stored", "trial", trial, "error", err)
	return &Refusal{503, retryBusy, "the judge cannot store a submission now (is its disk full?); nothing is spent, try again later"}
}
