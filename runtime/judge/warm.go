package judge

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/fault"
)

// LabelWarm is on every judge container that was started before anybody knew for which
// submission. It keeps that label, and has none of a trial, when one is judged in it.
const LabelWarm = "assayd.warm"

const (
	// warmLife is how long a container may wait to be used.
	warmLife = 10 * time.Minute
	// warmRest is how long the pool leaves the machine to the judging that has just begun.
	warmRest = time.Second
	// warmRetry is when to try again after the engine failed.
	warmRetry = time.Minute
)

// pool holds containers that wait for a submission: running, with nothing in them but
// what the image has, used once. What it should hold follows from the sessions; only run
// starts and removes. An engine that fails leaves it empty, and then every judging starts
// its own container.
type pool struct {
	judge *Judge
	wake  chan struct{} // holds one value while there may be something to do

	mu    sync.Mutex
	ready []warm         // oldest first
	asked map[string]int // by kind: when one was last asked for; higher is later
	turn  int
}

// warm is one container of the pool.
type warm struct {
	id    string
	kind  string    // kindOf its workload
	until time.Time // later it is not handed out, only removed
}

func newPool(j *Judge) *pool {
	return &pool{judge: j, wake: make(chan struct{}, 1), asked: map[string]int{}}
}

// kindOf is the same for workloads of which one can stand in for the other.
func kindOf(w container.Workload) string {
	w.Name = ""
	return w.Hash() // without labels
}

// warmable reports whether a container may be started ahead for the session. An exclusive
// judge runs on CPUs that are not known yet, a game's container lives for a session, and one
// that stays has to bear the labels of its trial.
func (s *session) warmable() bool {
	j := s.Task.Judge
	return s.known && !s.Keep && !j.Exclusive && j.Game == ""
}

// take hands out a container that runs and is as the workload wants it, or "". Whoever
// gets it removes it.
func (p *pool) take(ctx context.Context, w container.Workload) string {
	kind := kindOf(w)
	p.ask(kind)
	defer p.signal()
	for {
		c, ok := p.pop(kind)
		if !ok {
			return ""
		}
		inst, err := p.judge.opts.Engine.Inspect(ctx, c.id)
		if err == nil && inst.Phase == container.PhaseRunning && !inst.Frozen {
			return c.id
		}
		c.until = time.Time{} // it died meanwhile, or nobody knows: to be removed
		p.put(c)
	}
}

func (p *pool) ask(kind string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.turn++
	p.asked[kind] = p.turn
}

func (p *pool) pop(kind string) (warm, bool) {
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.IndexFunc(p.ready, func(c warm) bool { return c.kind == kind && now.Before(c.until) })
	if i < 0 {
		return warm{}, false
	}
	c := p.ready[i]
	p.ready = slices.Delete(p.ready, i, i+1)
	return c, true
}

func (p *pool) put(c warm) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ready = append(p.ready, c)
}

// signal has the pool look again at what it should hold.
func (p *pool) signal() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// run keeps the pool until the context ends, and leaves nothing.
func (p *pool) run(ctx context.Context) {
	defer p.empty(ctx)
	p.signal()
	for after := warmRetry; ctx.Err() == nil; after = p.keep(ctx) {
		timer := time.NewTimer(after)
		select {
		case <-p.wake:
			timer.Reset(warmRest) // more may come at once
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
func (p *pool) keep(ctx context.Context) time.Duration {
	wanted := p.wanted()
	p.discard(ctx, p.surplus(wanted))
	for ctx.Err() == nil && !p.judge.cpus.busy() { // to start one would be felt on all CPUs
		w, ok := p.missing(wanted)
		if !ok {
			break
		}
		if err := p.add(ctx, w); err != nil {
			p.judge.opts.Log.Debug("no container could be started ahead", "image", w.Image, "error", err)
			return warmRetry
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.ready) == 0 {
		return 24 * time.Hour // whatever changes that wakes it
	}
	first := slices.MinFunc(p.ready, func(a, b warm) int { return a.until.Compare(b.until) })
	return max(time.Until(first.until), warmRest)
}

// demand is a kind of container and how many the sessions could use at once.
type demand struct {
	workload   container.Workload
	containers int
}

// wanted is what sessions could use, by kind.
func (p *pool) wanted() map[string]demand {
	p.judge.mu.Lock()
	defer p.judge.mu.Unlock()
	all := map[string]demand{}
	for _, s := range p.judge.sessions {
		if s.isOver() {
			continue
		}
		for _, c := range []*session{s, s.grader} { // the private set is run but once, at the end
			if c == nil || !c.warmable() {
				continue
			}
			w := p.judge.workload(c, "", "")
			w.Labels = map[string]string{
				container.LabelOwner: p.judge.opts.Owner, container.LabelRole: container.RoleJudge, LabelWarm: "true",
			}
			kind := kindOf(w)
			all[kind] = demand{w, all[kind].containers + 1}
		}
	}
	return all
}

// surplus takes out of the pool what is too old, and what no session is there for. It also
// forgets what was asked for by sessions that are gone.
func (p *pool) surplus(wanted map[string]demand) (gone []warm) {
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	have := map[string]int{}
	p.ready = slices.DeleteFunc(p.ready, func(c warm) bool {
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

func (p *pool) discard(ctx context.Context, gone []warm) {
	for _, c := range gone {
		p.judge.remove(ctx, c.id)
	}
}

// missing picks what to start next: the kind of which there are the fewest, and of those
// the one that was asked for last.
func (p *pool) missing(wanted map[string]demand) (w container.Workload, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.ready) >= p.judge.opts.Warm {
		return w, false
	}
	have := map[string]int{}
	for _, c := range p.ready {
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
func (p *pool) add(ctx context.Context, w container.Workload) error {
	w.Name = p.judge.name("warm-" + newID())
	inst, err := p.judge.launch(ctx, w)
	if err != nil {
		p.judge.remove(ctx, w.Name)
		if container.Unavailable(err) {
			p.judge.leave(w.Name) // the answer was lost, and it may come to be there yet
		}
		return err
	}
	fault.Reached(fault.WarmStarted)
	p.put(warm{inst.ID, kindOf(w), time.Now().Add(warmLife)})
	return nil
}

// empty removes all that is left when the judge ends.
func (p *pool) empty(ctx context.Context) {
	p.discard(ctx, p.surplus(nil))
}
