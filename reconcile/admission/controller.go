package admission

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/assayd/assayd/runtime/clock"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/waiting"
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

// Controller shares the machine between work and judge containers. The judge's share is
// never given to work containers, so that agents that wait for a verdict cannot starve
// it; judging may use what no work container holds, and gives it back when it is done. A
// game is open for hours: games never keep all judging waiting.
type Controller struct {
	limits Limits
	mu     sync.Mutex
	work   Need
	count  int
	judge  Need // of judgings
	judges int
	game   Need // of games
	games  int
	more   chan struct{} // closed, and made again, when there may be more room
	freed  func()        // called after room for work became free
	left   func() int64  // bytes that the disk has left; negative = that is not known
	again  *time.Timer   // looks at the disk again; nil = no one was refused for it
}

// leastFree is what the disk must have left for a work container to begin, in bytes. Those that
// run may take more than was reserved for them.
const leastFree = 5 << 30

// freeAgain is how long after a refusal the disk is looked at again: nobody tells that others
// have freed some of it.
const freeAgain = 10 * time.Second

// New returns an admission with nothing admitted. It calls freed, which must not
// block, whenever a refused TryWork may do better, and asks left what the disk has left.
func New(l Limits, left func() int64, freed func()) *Controller {
	return &Controller{limits: l, left: left, freed: freed, more: make(chan struct{})}
}

// Limits are those that it keeps to.
func (a *Controller) Limits() Limits { return a.limits }

// short reports whether the disk has too little left, and has those who wait look again. The
// lock is held.
func (a *Controller) short() bool {
	left := a.left()
	if left < 0 || left >= leastFree {
		return false
	}
	if a.again == nil {
		a.again = time.AfterFunc(freeAgain, func() {
			a.mu.Lock()
			a.again = nil
			a.wake()
			a.mu.Unlock()
			a.freed()
		})
	}
	return true
}

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

// Scarce reports whether containers that run are about to fill the disk.
func (a *Controller) Scarce() bool {
	left := a.left()
	return left >= 0 && left < leastFree/2
}

// TryWork admits a work container if there is room now. One is always admitted where the disk
// is not short: specs that could never be are refused when they are read.
func (a *Controller) TryWork(n Need) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.workFits(n) {
		return false
	}
	a.hold(n)
	return true
}

// fitsWork reports whether TryWork would admit a container now.
func (a *Controller) fitsWork(n Need) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.workFits(n)
}

// workFits is fitsWork. The lock is held.
func (a *Controller) workFits(n Need) bool {
	if a.short() || a.limits.Containers > 0 && a.count >= a.limits.Containers {
		return false
	}
	share, kept := a.limits.workShare(), a.limits.judgeShare()
	judged := a.judge.plus(a.game, 1)
	judged = Need{CPUs: max(judged.CPUs-kept.CPUs, 0), Memory: max(judged.Memory-kept.Memory, 0)} // beyond its share
	fits := a.work.CPUs+n.CPUs+judged.CPUs <= share.CPUs+slack && a.work.Memory+n.Memory+judged.Memory <= share.Memory &&
		(share.Disk == 0 || a.work.Disk+n.Disk <= share.Disk)
	return fits || a.count == 0
}

// explain says in words why there is no room for a work container now.
func (a *Controller) explain(n Need) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.short() {
		return fmt.Sprintf("waits for room: the disk has %s left, and nothing starts below %s; free some of it, for example with: assayd gc",
			humanize.IBytes(uint64(a.left())), humanize.IBytes(leastFree)) //nolint:gosec // not negative
	}
	share := a.limits.workShare()
	taken := fmt.Sprintf("of %s and %s for agents, others hold %s and %s",
		inCPUs(share.CPUs), humanize.IBytes(uint64(share.Memory)), inCPUs(a.work.CPUs), humanize.IBytes(uint64(a.work.Memory)))
	if a.limits.Containers > 0 && a.count >= a.limits.Containers {
		taken = fmt.Sprintf("%d containers are the most at once", a.limits.Containers)
	}
	if share.Disk > 0 && a.work.Disk+n.Disk > share.Disk {
		return fmt.Sprintf("waits for room: the next container needs %s of disk; of %s, others hold %s",
			humanize.IBytes(uint64(n.Disk)), humanize.IBytes(uint64(share.Disk)), humanize.IBytes(uint64(a.work.Disk)))
	}
	return fmt.Sprintf("waits for room: the next container needs %s and %s; %s", inCPUs(n.CPUs), humanize.IBytes(uint64(n.Memory)), taken)
}

// inCPUs is a number of them in words.
func inCPUs(n float64) string {
	if n == 1 {
		return "1 CPU"
	}
	return fmt.Sprintf("%g CPUs", n)
}

// ForceWork admits a container that runs already, whatever the limits say.
func (a *Controller) ForceWork(n Need) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.hold(n)
}

func (a *Controller) hold(n Need) {
	a.work = a.work.plus(n, 1)
	a.count++
}

// ReleaseWork gives back what TryWork or ForceWork took.
func (a *Controller) ReleaseWork(n Need) {
	a.mu.Lock()
	a.work = a.work.plus(n, -1)
	a.count--
	a.wake()
	a.mu.Unlock()
	a.freed()
}

// headStart is how long room that came free is left to trials, before others try to take it.
const headStart = time.Second

// AcquireWork waits for room for one container that is no trial's: what comes free is offered
// to trials first. When the context ends its cause is returned.
func (a *Controller) AcquireWork(ctx context.Context, n Need) (release func(), err error) {
	for {
		turn := a.Changed() // before it is tried: what comes free meanwhile counts
		if a.TryWork(n) {
			waiting.Because(ctx, nil)
			return sync.OnceFunc(func() { a.ReleaseWork(n) }), nil
		}
		waiting.Because(ctx, errors.New(a.explain(n)))
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

// TryJudge is round.Capacity.TryJudge; the first judging is always admitted, whatever games are
// open.
func (a *Controller) TryJudge(cpus float64, memory int64) (release func(), ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.tryJudge(Need{CPUs: cpus, Memory: memory}, false)
}

// TryGame is round.Capacity.TryGame: beside what is judged just now.
func (a *Controller) TryGame(cpus float64, memory int64) (release func(), ok bool, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	n := Need{CPUs: cpus, Memory: memory}
	if !a.leavesOne(n) {
		return nil, false, fmt.Errorf("room for a game beside %d others: %w", a.games, round.ErrBusy)
	}
	release, ok = a.tryJudge(n, true)
	return release, ok, nil
}

// tryJudge admits a judging or a game if there is room now. The lock is held.
func (a *Controller) tryJudge(n Need, game bool) (release func(), ok bool) {
	if !a.judgeFits(n, game) {
		return nil, false
	}
	a.holdJudge(n, game, 1)
	return sync.OnceFunc(func() { a.releaseJudge(n, game) }), true
}

// Changed is round.Capacity.Changed.
func (a *Controller) Changed() <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.more
}

// judgeFits: the judge's own share always, and whatever work does not hold beyond it. What
// would be the only judging is admitted, and a game that would be alone.
func (a *Controller) judgeFits(n Need, game bool) bool {
	if a.judges == 0 && (!game || a.games == 0) {
		return true
	}
	return a.judge.plus(a.game, 1).plus(n, 1).within(a.free())
}

// leavesOne reports whether a game would leave room for a judging of one CPU beside all games.
// The first game need not: on a small machine there would be none.
func (a *Controller) leavesOne(n Need) bool {
	one := Need{CPUs: 1, Memory: n.Memory}
	return a.games == 0 || a.game.plus(n, 1).plus(one, 1).within(a.free())
}

// free is what judgings and games may have together.
func (a *Controller) free() Need {
	own := a.limits.judgeShare()
	return Need{CPUs: max(a.limits.CPUs-a.work.CPUs, own.CPUs), Memory: max(a.limits.Memory-a.work.Memory, own.Memory)}
}

// within reports whether there are as many CPUs and as much memory.
func (n Need) within(room Need) bool { return n.CPUs <= room.CPUs+slack && n.Memory <= room.Memory }

// plus adds so many times another need.
func (n Need) plus(o Need, times int) Need {
	return Need{CPUs: n.CPUs + float64(times)*o.CPUs, Memory: n.Memory + int64(times)*o.Memory, Disk: n.Disk + int64(times)*o.Disk}
}

// holdJudge takes the room of a judge container; by -1 it gives it back.
func (a *Controller) holdJudge(n Need, game bool, by int) {
	if game {
		a.game, a.games = a.game.plus(n, by), a.games+by
		return
	}
	a.judge, a.judges = a.judge.plus(n, by), a.judges+by
}

func (a *Controller) releaseJudge(n Need, game bool) {
	a.mu.Lock()
	a.holdJudge(n, game, -1)
	a.wake()
	a.mu.Unlock()
	a.freed()
}

// wake lets all who wait look again. The lock is held.
func (a *Controller) wake() {
	close(a.more)
	a.more = make(chan struct{})
}
