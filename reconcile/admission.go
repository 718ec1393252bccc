package reconcile

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/assayd/assayd/runtime/clock"
)

// Need is what one container takes of the machine.
type Need struct {
	CPUs   float64
	Memory int64 // bytes
	Disk   int64
}

// Limits bound what runs at once; `limits` of the settings.
type Limits struct {
	CPUs       float64
	Memory     int64
	Disk       int64
	Containers int     // 0 = no limit
	Judge      float64 // share of CPUs and memory kept for judging
}

// Admission shares the machine between work and judge containers. The judge's share is
// never given to work containers, so that agents that wait for a verdict cannot starve
// it; judging may use what no work container holds, and gives it back when it is done.
type Admission struct {
	limits Limits
	mu     sync.Mutex
	work   Need
	count  int
	judge  Need
	judges int
	wait   []chan struct{} // those who wait for room
	freed  func()          // called after room for work became free
}

// NewAdmission returns an admission with nothing admitted. It calls freed, which must not
// block, whenever a refused TryWork may do better.
func NewAdmission(l Limits, freed func()) *Admission { return &Admission{limits: l, freed: freed} }

// workShare is what work containers may have together.
func (l Limits) workShare() Need {
	cpus := l.CPUs * l.Judge
	if l.CPUs >= 2 {
		cpus = max(cpus, 1)
	}
	return Need{CPUs: l.CPUs - cpus, Memory: l.Memory - int64(float64(l.Memory)*l.Judge), Disk: l.Disk}
}

// judgeShare is what judging always may have.
func (l Limits) judgeShare() Need {
	work := l.workShare()
	return Need{CPUs: l.CPUs - work.CPUs, Memory: l.Memory - work.Memory}
}

// slack is more than sums of CPUs are ever wrong by.
const slack = 1e-9

// TryWork admits a work container if there is room now. One is always admitted: specs that
// could never be are refused when they are read.
func (a *Admission) TryWork(n Need) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	share, kept := a.limits.workShare(), a.limits.judgeShare()
	judged := Need{CPUs: max(a.judge.CPUs-kept.CPUs, 0), Memory: max(a.judge.Memory-kept.Memory, 0)} // beyond its share
	fits := a.work.CPUs+n.CPUs+judged.CPUs <= share.CPUs+slack && a.work.Memory+n.Memory+judged.Memory <= share.Memory &&
		(share.Disk == 0 || a.work.Disk+n.Disk <= share.Disk)
	if a.limits.Containers > 0 && a.count >= a.limits.Containers {
		return false
	}
	if !fits && a.count > 0 {
		return false
	}
	a.hold(n)
	return true
}

// explain says in words why there is no room for a work container now.
func (a *Admission) explain(n Need) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	share := a.limits.workShare()
	taken := fmt.Sprintf("of %g CPUs and %s for agents, others hold %g CPUs and %s",
		share.CPUs, humanize.IBytes(uint64(share.Memory)), a.work.CPUs, humanize.IBytes(uint64(a.work.Memory)))
	if a.limits.Containers > 0 && a.count >= a.limits.Containers {
		taken = fmt.Sprintf("%d containers are the most at once", a.limits.Containers)
	}
	if share.Disk > 0 && a.work.Disk+n.Disk > share.Disk {
		return fmt.Sprintf("waits for room: the next trial needs %s of disk; of %s, others hold %s",
			humanize.IBytes(uint64(n.Disk)), humanize.IBytes(uint64(share.Disk)), humanize.IBytes(uint64(a.work.Disk)))
	}
	return fmt.Sprintf("waits for room: the next trial needs %g CPUs and %s; %s", n.CPUs, humanize.IBytes(uint64(n.Memory)), taken)
}

// ForceWork admits a container that runs already, whatever the limits say.
func (a *Admission) ForceWork(n Need) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.hold(n)
}

func (a *Admission) hold(n Need) {
	a.work = Need{a.work.CPUs + n.CPUs, a.work.Memory + n.Memory, a.work.Disk + n.Disk}
	a.count++
}

// ReleaseWork gives back what TryWork or ForceWork took.
func (a *Admission) ReleaseWork(n Need) {
	a.mu.Lock()
	a.work = Need{a.work.CPUs - n.CPUs, a.work.Memory - n.Memory, a.work.Disk - n.Disk}
	a.count--
	a.wake()
	a.mu.Unlock()
	a.freed()
}

// headStart is how long room that came free is left to trials, before others try to take it.
const headStart = time.Second

// AcquireWork waits for room for one container that is no trial's: what comes free is offered
// to trials first. When the context ends its cause is returned.
func (a *Admission) AcquireWork(ctx context.Context, n Need) (release func(), err error) {
	for {
		a.mu.Lock()
		turn := make(chan struct{})
		a.wait = append(a.wait, turn) // before it is tried: what comes free meanwhile counts
		a.mu.Unlock()
		if a.TryWork(n) {
			return sync.OnceFunc(func() { a.ReleaseWork(n) }), nil
		}
		select {
		case <-turn:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		if err := clock.Sleep(ctx, headStart); err != nil {
			return nil, err
		}
	}
}

// Acquire waits for room for one judge container; the first is always admitted. When the
// context ends its cause is returned.
func (a *Admission) Acquire(ctx context.Context, cpus float64, memory int64) (release func(), err error) {
	for {
		a.mu.Lock()
		if a.judgeFits(cpus, memory) {
			a.judge.CPUs += cpus
			a.judge.Memory += memory
			a.judges++
			a.mu.Unlock()
			return sync.OnceFunc(func() { a.releaseJudge(cpus, memory) }), nil
		}
		turn := make(chan struct{})
		a.wait = append(a.wait, turn)
		a.mu.Unlock()
		select {
		case <-turn:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// judgeFits: the judge's own share always, and whatever work does not hold beyond it.
func (a *Admission) judgeFits(cpus float64, memory int64) bool {
	if a.judges == 0 {
		return true
	}
	own := a.limits.judgeShare()
	free := Need{CPUs: max(a.limits.CPUs-a.work.CPUs, own.CPUs), Memory: max(a.limits.Memory-a.work.Memory, own.Memory)}
	return a.judge.CPUs+cpus <= free.CPUs+slack && a.judge.Memory+memory <= free.Memory
}

func (a *Admission) releaseJudge(cpus float64, memory int64) {
	a.mu.Lock()
	a.judge.CPUs -= cpus
	a.judge.Memory -= memory
	a.judges--
	a.wake()
	a.mu.Unlock()
	a.freed()
}

// wake lets all who wait look again.
func (a *Admission) wake() {
	for _, turn := range a.wait {
		close(turn)
	}
	a.wait = nil
}
