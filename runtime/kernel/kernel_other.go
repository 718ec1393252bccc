//go:build !linux

package kernel

import (
	"errors"
	"os"
	"syscall"
)

func file(stat *syscall.Stat_t) File {
	return File{uint64(stat.Dev), stat.Ino, stat.Size, stat.Ctimespec}
}

// SyncFS flushes the folder alone: there is no call for a whole file system.
func SyncFS(dir string) (err error) {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return f.Sync()
}

// EndWithThread does nothing: this kernel cannot do that.
func EndWithThread(*syscall.SysProcAttr) {}

// LimitMemory does nothing: this kernel bounds no other process.
func LimitMemory(int, uint64) error { return nil }

// Exchange is not to be had.
func Exchange(string, string) error { return errors.ErrUnsupported }
