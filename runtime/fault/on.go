//go:build faults

package fault

import (
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// Reached ends the process with SIGKILL when ASSAYD_FAULT_KILL is "POINT" or "POINT:N", and
// this is the Nth time that the step is reached; N is 1 where it is not said. With
// ASSAYD_FAULT_KILL_FILE that is what the file of this name holds, as soon as it does.
func Reached(p Point) {
	if kill.due(p) {
		_, _ = os.Stderr.WriteString("fault: killed at " + string(p) + "\n")
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {} // the signal is on its way
	}
}

// Err is ENOSPC when ASSAYD_FAULT_FULL is "POINT" or "POINT:N": from the Nth write at the
// step on, for as long as the file that ASSAYD_FAULT_FULL_WHILE names exists, or for once
// where it names none.
func Err(p Point) error {
	if full.active(p) {
		return &os.PathError{Op: "write", Path: string(p), Err: syscall.ENOSPC}
	}
	return nil
}

var (
	kill = counter{variable: "ASSAYD_FAULT_KILL"}
	full = counter{variable: "ASSAYD_FAULT_FULL"}
)

// counter counts how often the point came that a variable names.
type counter struct {
	variable string

	mu    sync.Mutex
	of    string // what was asked for when times began
	times int
}

// asked is the point that is asked for, and at which time it is due.
func (c *counter) asked() (point string, time int) {
	text := os.Getenv(c.variable)
	if file := os.Getenv(c.variable + "_FILE"); file != "" {
		held, _ := os.ReadFile(file) // not there: nothing is asked for
		text = string(held)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if text != c.of {
		c.of, c.times = text, 0
	}
	point, count, _ := strings.Cut(text, ":")
	return point, wanted(count)
}

// due tells whether this is the time that was asked for.
func (c *counter) due(p Point) bool {
	point, time := c.asked()
	if point != string(p) {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.times++
	return c.times == time
}

// active tells whether the time that was asked for has come and lasts.
func (c *counter) active(p Point) bool {
	lasting := os.Getenv("ASSAYD_FAULT_FULL_WHILE")
	if lasting == "" {
		return c.due(p)
	}
	point, time := c.asked()
	if point != string(p) {
		return false
	}
	if _, err := os.Stat(lasting); err != nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.times++
	return c.times >= time
}

func wanted(count string) int {
	n, err := strconv.Atoi(count)
	if err != nil || n < 1 {
		return 1
	}
	return n
}
