package trial

import (
	"errors"
	"slices"
	"syscall"
	"time"
)

// enginePatience is how long an engine is waited for that answers and cannot: its disk is full,
// or its kernel has too much to do. Somebody may see to it, and a try is not spent before.
const enginePatience = 30 * time.Minute

// retryWindow is what an engine cannot do for a trial just now.
type retryWindow struct {
	phase Phase
	since time.Time
	times int
}

// waits reports whether the engine is asked again in this phase, after an answer that it cannot.
// It always is maxAgain times.
func (m *Machine) waits(s State) bool {
	if m.retrying.phase != s.Phase {
		m.retrying = retryWindow{phase: s.Phase, since: time.Now()}
	}
	m.retrying.times++
	return m.retrying.times < maxAgain || time.Since(m.retrying.since) < m.patient
}

// hostError says that the daemon does not have what a trial needs of it: the log cannot be opened,
// or the way to its model.
type hostError struct{ error }

func (l *hostError) Unwrap() error { return l.error }

// ownTrouble reports whether an error is of this machine rather than of the trial: its disk
// is full, read-only or broken, or it has no file handles left. It passes, or somebody sees
// to it; until then a trial waits, and it costs no try.
func ownTrouble(err error) bool {
	if _, ok := errors.AsType[*hostError](err); ok {
		return true
	}
	return slices.ContainsFunc([]error{
		syscall.ENOSPC, syscall.EDQUOT, syscall.EROFS, syscall.EIO, syscall.EMFILE, syscall.ENFILE,
	}, func(cause error) bool { return errors.Is(err, cause) })
}
