package kernel

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

func file(stat *syscall.Stat_t) File {
	return File{stat.Dev, stat.Ino, stat.Size, stat.Ctim}
}

// SyncFS returns when everything in the file system of a folder is on its disk. It is for
// trees with too many files to wait for each of them.
func SyncFS(dir string) (err error) {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := unix.Syncfs(int(f.Fd())); err != nil {
		return fmt.Errorf("write %s to the disk: %w", dir, err)
	}
	return nil
}

// EndWithThread has the kernel end a process with the thread that starts it.
func EndWithThread(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }

// LimitMemory bounds the address space of a process, in bytes. One that is over already
// needs no bound.
func LimitMemory(pid int, bytes uint64) error {
	limit := &unix.Rlimit{Cur: bytes, Max: bytes}
	if err := unix.Prlimit(pid, unix.RLIMIT_AS, limit, nil); err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("bound the memory of process %d: %w", pid, err)
	}
	return nil
}

// Exchange puts each of two files or folders in the place of the other, in one step. The
// error is errors.ErrUnsupported where the file system cannot.
func Exchange(a, b string) error {
	err := unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) {
		return errors.ErrUnsupported
	}
	return err
}
