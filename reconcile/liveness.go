package reconcile

import (
	"sync/atomic"
	"time"
)

// liveness tells how the loop fares. Any goroutine may use it.
type liveness struct {
	born     time.Time
	progress atomic.Int64 // the loop's last turn, in nanoseconds since born
	waits    atomic.Bool  // the loop has nothing to do
}

// Progress is how long ago the loop last completed a turn; it turns at least every ten
// seconds when nothing happens.
func (l *liveness) Progress() time.Duration {
	return time.Since(l.born) - time.Duration(l.progress.Load())
}

// Age is for how long the loop has been at its present turn, and has answered nobody else; 0 while
// it waits for something to do.
func (l *liveness) Age() time.Duration {
	if l.waits.Load() {
		return 0
	}
	return l.Progress()
}

// Heartbeat says that the loop is at work on something long, such as copying a context.
func (l *liveness) Heartbeat() { l.progress.Store(int64(time.Since(l.born))) }

// startsAtOnce is how many trials begin in a turn, and startsWithin for how long: whoever asks the loop
// waits for all of them, and each waits for the trials that write to the store.
const (
	startsAtOnce = 16
	startsWithin = 100 * time.Millisecond
)

// pace bounds how many trials begin in a turn. It belongs to the loop's goroutine.
type pace struct {
	started int       // trials in this turn
	woken   time.Time // when this turn began
	tired   time.Time // when to begin no more of them in it
}

// begin says that a turn begins.
func (p *pace) begin() {
	p.woken = time.Now()
	p.tired = p.woken.Add(startsWithin)
}

// enough reports whether the trials that have not begun yet do so in another turn.
func (p *pace) enough() bool {
	return p.started >= startsAtOnce || p.started > 0 && time.Now().After(p.tired)
}
