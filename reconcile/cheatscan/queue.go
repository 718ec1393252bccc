package cheatscan

import (
	"context"
	"fmt"
	"sync"

	"github.com/assayd/assayd/runtime/trial"
)

// queue has the trials in line, and how many of each run are not looked through yet.
type queue struct {
	wake chan struct{} // holds one value while there may be one in line

	mu   sync.Mutex
	line []Scan
	open map[string]int // in line or under way, by the address of the run
}

// Scan is for one try of a trial: that which counts.
type Scan struct {
	spec, trial string
	try         int
}

func newQueue() *queue {
	return &queue{wake: make(chan struct{}, 1), open: map[string]int{}}
}

// Prefix is that of the marks of trials that are to be looked through.
const Prefix = "cheat-scan/"

// Mark is what the store has of it.
func (c Scan) Mark() (key, value string) {
	return Prefix + c.trial, fmt.Sprintf("%d %s", c.try, c.spec)
}

// Of is what is to be looked through of a trial, and whether anything is: of an ended one whose
// last try counts.
func Of(s trial.State) (c Scan, due bool) {
	due = s.Phase == trial.Done && s.Result != nil && s.Result.Final && !s.Again && s.Scans()
	return Scan{s.Spec, s.ID, s.Try}, due
}

func (k *queue) add(c Scan) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.line = append(k.line, c)
	k.open[c.spec]++
	k.nudge()
}

func (k *queue) nudge() {
	select {
	case k.wake <- struct{}{}:
	default:
	}
}

// next waits for one.
func (k *queue) next(ctx context.Context) (c Scan, err error) {
	for {
		k.mu.Lock()
		if len(k.line) > 0 {
			c, k.line = k.line[0], k.line[1:]
			if len(k.line) > 0 {
				k.nudge()
			}
			k.mu.Unlock()
			return c, nil
		}
		k.mu.Unlock()
		select {
		case <-k.wake:
		case <-ctx.Done():
			return c, context.Cause(ctx)
		}
	}
}

// done says that one is over, and reports whether its run has no other.
func (k *queue) done(c Scan) (last bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.open[c.spec]--; k.open[c.spec] > 0 {
		return false
	}
	delete(k.open, c.spec)
	return true
}

// of is how many trials of a run are not looked through yet.
func (k *queue) of(address string) int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.open[address]
}
