package request

import (
	"errors"
	"fmt"
)

// ErrStopped is returned by calls to a reconciler that has ended.
var ErrStopped = errors.New("the daemon is stopping")

// ErrIdle says that only a daemon can do something, and none runs.
var ErrIdle = errors.New("no daemon runs on this state directory")

// ErrNothing says that there is nothing to cancel.
var ErrNothing = errors.New("nothing of it runs")

// Conflict is an error of a request that the present state does not allow: another state may.
type Conflict struct{ error }

// Unwrap gives the cause.
func (c *Conflict) Unwrap() error { return c.error }

// Conflictf is a *Conflict.
func Conflictf(format string, args ...any) error { return &Conflict{fmt.Errorf(format, args...)} }

// Mistake is an error that whoever asks has to mend.
type Mistake struct{ error }

// Unwrap gives the cause.
func (m *Mistake) Unwrap() error { return m.error }

// Mistakef is a *Mistake.
func Mistakef(format string, args ...any) error { return &Mistake{fmt.Errorf(format, args...)} }
