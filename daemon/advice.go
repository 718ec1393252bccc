package daemon

import (
	"errors"
	"fmt"
	"syscall"

	"github.com/assayd/assayd/reconcile/store/statedir"
)

// advised adds the way out to an error of a state directory that cannot be written.
func advised(err error, dir string) error {
	switch {
	case errors.Is(err, statedir.ErrNoSpace), errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return fmt.Errorf("%w; make room on the file system of %s and start again: containers go on meanwhile, and nothing is lost", err, dir)
	case errors.Is(err, statedir.ErrReadOnly), errors.Is(err, syscall.EROFS):
		return fmt.Errorf("%w; make %s writable and start again, or name another state directory with --state: containers go on meanwhile, and nothing is lost", err, dir)
	}
	return err
}
