package cellhost

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// thisThread is the number of the thread that calls.
func thisThread() int { return unix.Gettid() }

// threadCPU is what a thread of this process has taken. Each has a clock, whose number is made of that
// of the thread.
func threadCPU(thread int) (time.Duration, error) {
	var t unix.Timespec
	if err := unix.ClockGettime(int32(^thread<<3|6), &t); err != nil { //nolint:gosec // the kernel's threads have such numbers
		return 0, fmt.Errorf("read the clock of a thread: %w", err)
	}
	return time.Duration(t.Nano()), nil
}
