package parser

import (
	"runtime"
	"syscall"
	"testing"
	"time"
)

// spent is the CPU time that f takes: what the clock on the wall says is of the machine's
// other work, too.
func spent(t *testing.T, f func()) time.Duration {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := used(t)
	f()
	return used(t) - before
}

// used is the CPU time of the present thread.
func used(t *testing.T) time.Duration {
	t.Helper()
	const thread = 1 // RUSAGE_THREAD
	var u syscall.Rusage
	if err := syscall.Getrusage(thread, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
