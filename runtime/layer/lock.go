package layer

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// lockPause is how long another process's lock is left alone before the next look.
const lockPause = 50 * time.Millisecond

// errLocked says that another maker has the lock.
var errLocked = errors.New("another process is at work on it")

// lock waits until nobody else is at work on a layer, in this process or another one. The
// kernel lets go of the lock when its holder dies.
func (s *Store) lock(ctx context.Context, digest string) (unlock func(), err error) {
	for {
		unlock, err := s.tryLock(digest)
		if !errors.Is(err, errLocked) {
			return unlock, err
		}
		select {
		case <-time.After(lockPause):
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: %w", errLocked, context.Cause(ctx))
		}
	}
}

// tryLock is lock without waiting; errors.Is(err, errLocked) where that would be needed.
func (s *Store) tryLock(digest string) (unlock func(), err error) {
	// The file stays: one that is removed may be locked under a name that another now has.
	f, err := os.OpenFile(filepath.Join(s.locks(), digest), os.O_RDONLY|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock a layer: %w", err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		if errors.Is(err, unix.EWOULDBLOCK) {
			err = errLocked
		}
		return nil, errors.Join(fmt.Errorf("lock a layer: %w", err), f.Close())
	}
	return func() { _ = f.Close() }, nil // it was opened for its lock alone
}
