//go:build !linux

package guest

import (
	"errors"
	"syscall"
)

// The guest runs in containers, which are of Linux. Elsewhere it has to build, as a part of
// the program, and refuses to begin.

func isEstablished(int) bool { return false }

func notDumpable() error { return errors.New("the guest needs Linux") }

const sigSTKFLT = syscall.Signal(65) // there is none of that number

func setAction(syscall.Signal, uint64) {}

func pipe(ends *[2]int) error { return syscall.Pipe(ends[:]) }
