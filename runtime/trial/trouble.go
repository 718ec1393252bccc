package trial

import (
	"errors"
	"slices"
	"syscall"
)

// ownTrouble reports whether an error is of this machine rather than of the trial: its disk
// is full, read-only or broken, or it has no file handles left. It passes, or somebody sees
// to it; until then a trial waits, and it costs no try.
func ownTrouble(err error) bool {
	return slices.ContainsFunc([]error{
		syscall.ENOSPC, syscall.EDQUOT, syscall.EROFS, syscall.EIO, syscall.EMFILE, syscall.ENFILE,
	}, func(cause error) bool { return errors.Is(err, cause) })
}
