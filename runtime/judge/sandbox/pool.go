package sandbox

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/fault"
	"github.com/assayd/assayd/runtime/judge/round"
)

// LabelWarm is on every judge container that was started before anybody knew for which
// submission. It keeps that label, and has none of a trial, when one is judged in it.
const LabelWarm = "assayd.warm"

const (
	// WarmLife is how long a container may wait to be used.
	WarmLife = 10 * time.Minute
	// WarmRest is how long the pool leaves the machine to the judging that has just begun.
	WarmRest = time.Second
	// WarmRetry is when to try again after the engine failed.
	WarmRetry = time.Minute
)

// Pool holds containers that wait for a submission: running, with nothing in them but
// what the image has, used once. What it should hold follows from the sessions; only run
// starts and removes. An engine that fails leaves it empty, and then every judging starts
// its own container.
type Pool struct {
	host  *Host
	cpus  *CPUs
	max   int                         // containers in it
	wants func() []container.Workload // what the sessions could use at once
	wake  chan struct{}               // holds one value while there may be something to do

	mu      sync.Mutex
	waiting []warm         // oldest first
	asked   map[string]int // by kind: when one was last asked for; higher is later
	turn    int
}

// warm is one container of the pool.
type warm struct {
	id    string
	kind  string    // kindOf its workload
	until time.Time // later it is not handed out, only removed
}

// NewPool makes a pool of at most so many containers, of the workloads that wants lists.
func NewPool(h *Host, cpus *CPUs, max int, wants func() []container.Workload) *Pool {
	return &Pool{host: h, cpus: cpus, max: max, wants: wants, wake: make(chan struct{}, 1), asked: map[string]int{}}
}

// kindOf is the same for workloads of which one can stand in for the other.
func kindOf(w container.Workload) string {
	w.Name = ""
	return w.Hash() // without labels
}

// Take hands out a container that runs and is as the workload wants it, or "". Whoever
// gets it removes it.
func (p *Pool) Take(ctx context.Context, w container.Workload) string {
	kind := kindOf(w)
	p.ask(kind)
	defer p.Signal()
	for {
		c, ok := p.pop(kind)
		if !ok {
			return ""
		}
		inst, err := p.host.Engine.Inspect(ctx, c.id)
		if err == nil && inst.Phase == container.PhaseRunning && !inst.Frozen {
			return c.id
		}
		c.until = time.Time{} // it died meanwhile, or nobody knows: to be removed
		p.put(c)
	}
}

func (p *Pool) ask(kind string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.turn++
	p.asked[kind] = p.turn
}

func (p *Pool) pop(kind string) (warm, bool) {
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.IndexFunc(p.waiting, func(c warm) bool { return c.kind == kind && now.Before(c.until) })
	if i < 0 {
		return warm{}, false
	}
	c := p.waiting[i]
	p.waiting = slices.Delete(p.waiting, i, i+1)
	return c, true
}

// Len is how many containers wait in the pool.
func (p *Pool) Len() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.waiting)
}

func (p *Pool) put(c warm) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waiting = append(p.waiting, c)
}

// Signal has the pool look again at what it should hold.
func (p *Pool) Signal() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// Run keeps the pool until the context ends, and leaves nothing.
func (p *Pool) Run(ctx context.Context) {
	defer p.empty(ctx)
	p.Signal()
	for after := WarmRetry; ctx.Err() == nil; after = p.keep(ctx) {
		timer := time.NewTimer(after)
		select {
		case <-p.wake:
			timer.Reset(WarmRest) // more may come at once
			select {
			case <-timer.C:
			case <-ctx.Done():
			}
		case <-timer.C:
		case <-ctx.Done():
		}
		timer.Stop()
	}
}

// keep removes what is too old or for nobody, starts what is missing, and returns after
// which time there is something to do again.
func (p *Pool) keep(ctx context.Context) time.Duration {
	wanted := p.wanted()
	p.discard(ctx, p.surplus(wanted))
	for ctx.Err() == nil && !p.cpus.busy() { // to start one would be felt on all CPUs
		w, ok := p.missing(wanted)
		if !ok {
			break
		}
		if err := p.add(ctx, w); err != nil {
			p.host.Log.Debug("no container could be started ahead", "image", w.Image, "error", err)
			return WarmRetry
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.waiting) == 0 {
		return 24 * time.Hour // whatever changes that wakes it
	}
	first := slices.MinFunc(p.waiting, func(a, b warm) int { return a.until.Compare(b.until) })
	return max(time.Until(first.until), WarmRest)
}

// demand is a kind of container and how many the sessions could use at once.
type demand struct {
	workload   container.Workload
	containers int
}

// wanted is what sessions could use, by kind.
func (p *Pool) wanted() map[string]demand {
	all := map[string]demand{}
	for _, w := range p.wants() {
		w.Labels = map[string]string{container.LabelOwner: p.host.Owner, container.LabelRole: container.RoleJudge, LabelWarm: "true"}
		kind := kindOf(w)
		all[kind] = demand{w, all[kind].containers + 1}
	}
	return all
}

// surplus takes out of the pool what is too old, and what no session is there for. It also
// forgets what was asked for by sessions that are gone.
func (p *Pool) surplus(wanted map[string]demand) (gone []warm) {
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	have := map[string]int{}
	p.waiting = slices.DeleteFunc(p.waiting, func(c warm) bool {
		if !now.Before(c.until) || have[c.kind] >= wanted[c.kind].containers {
			gone = append(gone, c)
			return true
		}
		have[c.kind]++
		return false
	})
	for kind := range p.asked {
		if wanted[kind].containers == 0 {
			delete(p.asked, kind)
		}
	}
	return gone
}

func (p *Pool) discard(ctx context.Context, gone []warm) {
	for _, c := range gone {
		p.host.Remove(ctx, c.id)
	}
}

// missing picks what to start next: the kind of which there are the fewest, and of those
// the one that was asked for last.
func (p *Pool) missing(wanted map[string]demand) (w container.Workload, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.waiting) >= p.max {
		return w, false
	}
	have := map[string]int{}
	for _, c := range p.waiting {
		have[c.kind]++
	}
	best := ""
	for kind, d := range wanted {
		if have[kind] < d.containers && (best == "" || have[kind] < have[best] || have[kind] == have[best] && p.asked[kind] > p.asked[best]) {
			best = kind
		}
	}
	return wanted[best].workload, best != ""
}

// add starts a container and puts it into the pool.
func (p *Pool) add(ctx context.Context, w container.Workload) error {
	w.Name = p.host.ContainerName("warm-" + round.NewID())
	inst, err := p.host.Launch(ctx, w)
	if err != nil {
		p.host.Remove(ctx, w.Name)
		if container.Unavailable(err) {
			p.host.RemoveLater(w.Name) // the answer was lost, and it may come to be there yet
		}
		return err
	}
	fault.Reached(fault.WarmStarted)
	p.put(warm{inst.ID, kindOf(w), time.Now().Add(WarmLife)})
	return nil
}

// empty removes all that is left when the judge ends.
func (p *Pool) empty(ctx context.Context) {
	p.discard(ctx, p.surplus(nil))
}

// Ready is how many containers wait.
func (p *Pool) Ready() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.waiting)
}
