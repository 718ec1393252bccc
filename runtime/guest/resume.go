package guest

import (
	"fmt"
	"time"

	"github.com/assayd/assayd/runtime/guest/protocol"
)

// policy is the configured one, which decides after each run.
type policy protocol.ResumePolicy

// systematicRuns is how many failures in a row, each faster than ResumePolicy.MinRuntime,
// show that another start would fail as well.
const systematicRuns = 5

// streaks is what the policy remembers from run to run.
type streaks struct {
	Fast  int // consecutive failures shorter than MinRuntime
	Short int // consecutive runs that lengthen the pause
	Idle  int // consecutive attempts to stop without a change of the tree
}

// run is one run of the agent that is over.
type run struct {
	Code    int
	Runtime time.Duration
	Changed bool // the tree differs from what it was at the last look
}

// step is what follows a run: the end when End is set, or a start after Pause.
type step struct {
	End    string
	Detail string
	Pause  time.Duration
}

// after decides what follows a run, when the agent was started so often. resumable says
// that there is a command to start it again.
func (p policy) after(s streaks, r run, starts int, resumable bool) (streaks, step) {
	s = p.extend(s, r)
	switch {
	case s.Fast >= systematicRuns:
		return s, step{End: protocol.EndedError, Detail: fmt.Sprintf("%d runs in a row failed within %s, the last with exit code %d", s.Fast, p.MinRuntime, r.Code)}
	case p.Idle > 0 && s.Idle >= p.Idle:
		return s, step{End: protocol.EndedIdle, Detail: fmt.Sprintf("the agent wanted to stop %d times in a row without changing a file", s.Idle)}
	case p.Max == 0 || !resumable:
		if r.Code != 0 {
			return s, step{End: protocol.EndedError, Detail: fmt.Sprintf("exit code %d", r.Code)}
		}
		return s, step{End: protocol.EndedExit}
	case starts > p.Max:
		return s, step{End: protocol.EndedExit, Detail: fmt.Sprintf("started again %d times, the last run had exit code %d", starts-1, r.Code)}
	}
	return s, step{Pause: p.pauseAfter(s.Short)}
}

// extend counts a run. What failed within less than the longest pause lengthens the next
// pause too, fast or not: an outage of the model must not use up every start within
// minutes.
func (p policy) extend(s streaks, r run) streaks {
	fast := r.Runtime < p.MinRuntime
	failed := r.Code != 0
	s.Fast = count(s.Fast, fast && failed)
	s.Short = count(s.Short, fast || failed && r.Runtime < p.MaxBackoff)
	if !failed || r.Changed { // who crashes did not want to stop
		s.Idle = count(s.Idle, !r.Changed)
	}
	return s
}

func count(n int, goesOn bool) int {
	if goesOn {
		return n + 1
	}
	return 0
}

// pauseAfter is Backoff, doubled for each short run after the first and never above
// MaxBackoff, where there is one.
func (p policy) pauseAfter(short int) time.Duration {
	longest := p.MaxBackoff
	if longest <= 0 {
		longest = 24 * time.Hour
	}
	d := p.Backoff
	for i := 1; i < short && d < longest; i++ {
		d *= 2
	}
	return min(d, longest)
}
