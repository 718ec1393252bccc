package sandbox

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/assayd/assayd/runtime/container"
)

// CPUs gives judgings CPUs of their own: as long as one has some, all other containers
// of this owner run on the rest. Processes that are not in our containers are out of reach.
type CPUs struct {
	host   *Host
	freed  func()           // told that CPUs were given back
	pinner container.Pinner // nil = this engine has no say on CPUs
	info   container.Host
	wake   chan struct{} // holds one value while watch may have something to do

	mu     sync.Mutex
	cpus   int               // of the host; 0 = not asked yet
	claims map[string]*claim // by submission
	line   []*claim          // waiting, in the order in which they came
	kept   map[string]int    // CPUs for judgings that have begun and have not claimed theirs yet
	told   bool              // that there are no CPUs to give away

	turn     chan struct{}     // held by whoever pins; guards what follows
	confined map[string]string // containers that were pinned, and to what
	marked   bool              // something may be confined, and the marker tells it
	lost     bool              // what that is an earlier daemon knew
}

// claim is for one judging.
type claim struct {
	owner   string
	set     []int         // CPUs that nobody else may use; nil while it waits
	limit   string        // for its own container; "" = everywhere
	granted chan struct{} // closed when it has them
}

// NewCPUs shares out the CPUs of the host's engine; freed is called when some are given back.
func NewCPUs(h *Host, freed func()) *CPUs {
	e := &CPUs{
		host: h, freed: freed, wake: make(chan struct{}, 1), claims: map[string]*claim{}, kept: map[string]int{},
		turn: make(chan struct{}, 1), confined: map[string]string{},
	}
	e.pinner, _ = h.Engine.(container.Pinner)
	e.info, _ = h.Engine.(container.Host)
	return e
}

// Claim waits for so many CPUs, in turn, and has everybody else leave them. Until release,
// containers are made for these CPUs when workload is told the submission (which may be
// any id that no other claim has). Where there are none to give away claim returns at once,
// and says so in the log the first time.
func (e *CPUs) Claim(ctx context.Context, submission string, cpus float64) (release func(), err error) {
	total, err := e.Size(ctx)
	if err != nil {
		e.Revoke(submission)
		return nil, fmt.Errorf("claim CPUs for submission %s: %w", submission, err)
	}
	if total < 2 {
		e.tell("an exclusive judge has no CPUs of its own here: it runs beside others")
		return func() {}, nil
	}
	c := &claim{owner: submission, granted: make(chan struct{})}
	e.enter(c, whole(cpus), total)
	release = func() { e.leave(ctx, c) }
	select {
	case <-c.granted:
	case <-ctx.Done():
		release()
		return nil, context.Cause(ctx)
	}
	if err := e.pass(ctx); err != nil {
		release()
		return nil, fmt.Errorf("clear CPUs for submission %s: %w", submission, err)
	}
	e.signal()
	return release, nil
}

// whole is how many CPUs a judging claims.
func whole(cpus float64) int { return max(1, int(math.Ceil(cpus))) }

// Promise keeps CPUs for a judging that is about to claim them, and reports whether they are
// free: one that has to wait for others of its kind takes no other room meanwhile. As long as
// nobody knows how many there are, it promises anything.
func (e *CPUs) Promise(submission string, cpus float64) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.cpus < 2 {
		return true
	}
	want, free := min(whole(cpus), e.cpus-1), len(e.rest())-1
	for _, c := range e.line {
		free -= len(c.set)
	}
	for _, n := range e.kept {
		free -= n
	}
	if free < want {
		return false
	}
	e.kept[submission] = want
	return true
}

// Revoke takes a promise back.
func (e *CPUs) Revoke(submission string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.kept, submission)
}

// Size is how many CPUs there are to share out; 0 when the engine has no say on them.
func (e *CPUs) Size(ctx context.Context) (int, error) {
	if e.pinner == nil || e.info == nil {
		return 0, nil
	}
	e.mu.Lock()
	known := e.cpus
	e.mu.Unlock()
	if known > 0 {
		return known, nil
	}
	info, err := e.info.HostInfo(ctx)
	if err != nil {
		return 0, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.cpus = info.CPUs
	return e.cpus, nil
}

func (e *CPUs) tell(text string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.told {
		e.told = true
		e.host.Log.Warn(text)
	}
}

// enter puts a claim into line. One that wants as many CPUs as there are gets all but one
// for itself and may use that one as well: it is told so, and nobody has to stand still.
func (e *CPUs) enter(c *claim, want, total int) {
	if want >= total {
		e.tell("an exclusive judge wants all CPUs of this machine: it shares the first one with the rest")
		c.limit, want = cpuList(firstCPUs(total)), total-1
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	c.set = make([]int, want)
	delete(e.kept, c.owner)
	e.line = append(e.line, c)
	e.grant()
}

// grant serves the line from its head while there are CPUs. The first CPU is always the
// rest's. The lock is held.
func (e *CPUs) grant() {
	for len(e.line) > 0 {
		c := e.line[0]
		free := e.rest()[1:]
		if len(free) < len(c.set) {
			return
		}
		copy(c.set, free[len(free)-len(c.set):])
		if c.limit == "" {
			c.limit = cpuList(c.set)
		}
		e.claims[c.owner] = c
		e.line = e.line[1:]
		close(c.granted)
	}
}

// rest are the CPUs that nobody has claimed. The lock is held.
func (e *CPUs) rest() []int {
	return slices.DeleteFunc(firstCPUs(e.cpus), func(cpu int) bool {
		for _, c := range e.claims {
			if slices.Contains(c.set, cpu) {
				return true
			}
		}
		return false
	})
}

// leave gives a claim up, or its place in line.
func (e *CPUs) leave(ctx context.Context, c *claim) {
	e.mu.Lock()
	e.line = slices.DeleteFunc(e.line, func(o *claim) bool { return o == c })
	if e.claims[c.owner] == c {
		delete(e.claims, c.owner)
	}
	e.grant()
	e.mu.Unlock()
	e.freed()
	after, cancel := CleanupContext(ctx)
	defer cancel()
	if err := e.pass(after); err != nil {
		e.host.Log.Warn("containers do not have all CPUs back yet", "error", err)
	}
	e.signal()
}

// CPUSet is where the containers of a submission run; "" = everywhere.
func (e *CPUs) CPUSet(submission string) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	if c := e.claims[submission]; c != nil {
		return c.limit
	}
	return ""
}

// busy reports whether somebody has CPUs of its own now.
func (e *CPUs) busy() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.claims) > 0
}

func (e *CPUs) signal() {
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

func firstCPUs(n int) (cpus []int) {
	for cpu := range n {
		cpus = append(cpus, cpu)
	}
	return cpus
}

// cpuList writes ascending CPUs as an engine wants them: "0-2,5".
func cpuList(cpus []int) string {
	var parts []string
	for i := 0; i < len(cpus); {
		last := i
		for last+1 < len(cpus) && cpus[last+1] == cpus[last]+1 {
			last++
		}
		part := strconv.Itoa(cpus[i])
		if last > i {
			part += "-" + strconv.Itoa(cpus[last])
		}
		parts = append(parts, part)
		i = last + 1
	}
	return strings.Join(parts, ",")
}
