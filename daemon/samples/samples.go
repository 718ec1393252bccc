package samples

import (
	"context"
	"sync"
	"time"
)

// How often a sample is taken, and for how long it is kept.
const (
	Every = 30 * time.Second
	Kept  = 24 * time.Hour
)

// Sample is what was held at a moment.
type Sample struct {
	At                   time.Time
	WorkCPUs, JudgeCPUs  float64
	WorkBytes, DiskBytes int64 // memory and disk of work containers
	Queued               int   // rounds that wait for their judging
	InFlight             int   // requests that providers of models are at work on
}

// most is the larger one of each.
func (s Sample) most(o Sample) Sample {
	return Sample{
		s.At, max(s.WorkCPUs, o.WorkCPUs), max(s.JudgeCPUs, o.JudgeCPUs), max(s.WorkBytes, o.WorkBytes), max(s.DiskBytes, o.DiskBytes), max(s.Queued, o.Queued), max(s.InFlight, o.InFlight),
	}
}

// Ring keeps the samples of a day. The zero value has none. Any goroutine may use it.
type Ring struct {
	mu   sync.Mutex
	all  []Sample // at most as many as are kept
	next int      // where the next one goes, once there are that many
}

// Run adds a sample of read now and then, until the context ends.
func (r *Ring) Run(ctx context.Context, read func() Sample) error {
	tick := time.NewTicker(Every)
	defer tick.Stop()
	for {
		s := read()
		s.At = time.Now()
		r.Add(s)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// Add adds a sample, in place of the oldest one where a day is full.
func (r *Ring) Add(s Sample) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.all) < int(Kept/Every) {
		r.all = append(r.all, s)
		return
	}
	r.all[r.next] = s
	r.next = (r.next + 1) % len(r.all)
}

// Last returns the samples of the last day before now, the oldest first, in so many spans of equal length at most: of
// each span the most that was held. Spans without a sample are left out.
func (r *Ring) Last(now time.Time, spans int) (last []Sample) {
	r.mu.Lock()
	defer r.mu.Unlock()
	begin, span := now.Add(-Kept), Kept/time.Duration(spans)
	latest := -1
	for i := range r.all {
		s := r.all[(r.next+i)%len(r.all)]
		at := int(s.At.Sub(begin) / span)
		if s.At.Before(begin) || at >= spans {
			continue
		}
		if at == latest {
			last[len(last)-1] = last[len(last)-1].most(s)
			continue
		}
		latest = at
		s.At = begin.Add(time.Duration(at) * span)
		last = append(last, s)
	}
	return last
}
