package statedir

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// LockedError says that another process owns the state directory.
type LockedError struct {
	Dir string // the state directory
	PID int    // of the holder; 0 when it could not be read
}

func (e *LockedError) Error() string {
	holder := "another process"
	if e.PID > 0 {
		holder = fmt.Sprintf("process %d", e.PID)
	}
	return fmt.Sprintf("state directory %q is in use by %s: stop it first, or give each daemon its own state directory",
		e.Dir, holder)
}

// Lock takes the exclusive lock of the state directory dir until the closer is closed. A *LockedError says that another
// process has it. The kernel gives it back when the process
// ends, however it ends, so the file is never removed and never stale.
func Lock(dir string) (io.Closer, error) {
	path := filepath.Join(dir, "lock")
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock state directory: %w", Explain(err))
	}
	if err := flock(f); err != nil {
		defer f.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, &LockedError{Dir: dir, PID: lockHolder(f)}
		}
		return nil, fmt.Errorf("lock state directory %q: %w", dir, err)
	}
	if err := writePID(f); err != nil {
		return nil, errors.Join(fmt.Errorf("lock state directory %q: %w", dir, Explain(err)), f.Close())
	}
	return f, nil
}

// releaseTime is how long the kernel may take to give back the lock of a process that was
// killed just now.
const releaseTime = time.Second

func flock(f *os.File) error {
	for until := time.Now().Add(releaseTime); ; time.Sleep(releaseTime / 50) {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if !errors.Is(err, unix.EWOULDBLOCK) || time.Now().After(until) {
			return err
		}
	}
}

func writePID(f *os.File) error {
	pid := strconv.Itoa(os.Getpid()) + "\n"
	if _, err := f.WriteAt([]byte(pid), 0); err != nil {
		return err
	}
	return f.Truncate(int64(len(pid)))
}

// lockHolder is only for the message; the lock itself is the kernel's.
func lockHolder(f *os.File) int {
	data := make([]byte, 32)
	n, _ := f.ReadAt(data, 0)
	first, _, _ := strings.Cut(string(data[:n]), "\n")
	pid, err := strconv.Atoi(first)
	if err != nil {
		return 0
	}
	return pid
}
