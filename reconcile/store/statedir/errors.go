package statedir

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// Causes that callers tell apart with errors.Is.
var (
	// ErrNoSpace: the disk or the quota of the state directory is full.
	ErrNoSpace = errors.New("no space left for the state directory")
	// ErrReadOnly: the state directory is on a read-only file system.
	ErrReadOnly = errors.New("the state directory cannot be written")
)

// Cause is ErrNoSpace or ErrReadOnly where an error of the kernel says so; nil = it says neither.
func Cause(err error) error {
	switch {
	case errors.Is(err, unix.ENOSPC), errors.Is(err, unix.EDQUOT):
		return ErrNoSpace
	case errors.Is(err, unix.EROFS):
		return ErrReadOnly
	}
	return nil
}

// Explain adds its Cause to an error; without one it stays as it is.
func Explain(err error) error {
	if cause := Cause(err); cause != nil {
		return fmt.Errorf("%w: %w", cause, err)
	}
	return err
}
