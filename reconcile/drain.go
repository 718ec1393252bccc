package reconcile

import (
	"context"
	"slices"

	"github.com/assayd/assayd/reconcile/plan"
	"github.com/assayd/assayd/reconcile/request"
)

// drain follows what a drain waits for: nobody has to ask again and again. It belongs to the loop,
// but for over.
type drain struct {
	undone map[string]bool // runs, by address
	over   chan struct{}   // closed when there is none
}

// Drain waits until no run is open, and begins no execution from then on. Mining ends where it
// is, and of a run that would grow by it, or is held, only what runs is waited for: the next daemon goes on.
func (r *Reconciler) Drain(ctx context.Context) error {
	var over chan struct{}
	if err := r.do(ctx, func() { over = r.beginDrain(ctx) }); err != nil {
		return err
	}
	select {
	case <-over:
		return nil
	case <-r.done:
		return request.ErrStopped
	case <-ctx.Done():
		return ctx.Err()
	}
}

// beginDrain returns what is closed when the drain is over.
func (r *Reconciler) beginDrain(ctx context.Context) chan struct{} {
	if r.draining != nil {
		return r.draining.over
	}
	r.draining = &drain{undone: map[string]bool{}, over: make(chan struct{})}
	r.minings.Stop("")
	for address := range r.desired {
		r.draining.undone[address] = true
	}
	for address := range r.desired {
		r.follow(ctx, address)
	}
	r.endDrain()
	return r.draining.over
}

// follow looks whether a drain waits for a run that was just looked at. What is not known is waited
// for.
func (r *Reconciler) follow(ctx context.Context, address string) {
	if r.draining == nil {
		return
	}
	open := false
	if d := r.desired[address]; d != nil {
		o, err := r.observeOne(ctx, address)
		if open = err != nil || undone(d, o); err != nil {
			r.queue.retry(address, r.now())
		}
	}
	if open {
		r.draining.undone[address] = true
	} else {
		delete(r.draining.undone, address)
	}
}

// endDrain tells those that wait for the end of a drain that it has come.
func (r *Reconciler) endDrain() {
	if r.draining == nil || len(r.draining.undone) > 0 {
		return
	}
	select {
	case <-r.draining.over:
	default:
		close(r.draining.over)
	}
}

// undone reports whether a run has something that a drain waits for.
func undone(d *plan.Run, o plan.Observed) bool {
	switch {
	case d.Blocked != "" || o.Execution == nil || o.Execution.Finished:
		return false
	case d.MayGrow(*o.Execution), d.Stopped(o): // what is held may be so for ever
		return slices.ContainsFunc(o.Trials, plan.Trial.Running)
	}
	return true
}

// drained is the run as it is wanted: of one that grows a drain has no cell start.
func (r *Reconciler) drained(d *plan.Run, o plan.Observed) *plan.Run {
	if r.draining == nil || d == nil || o.Execution == nil || !d.MayGrow(*o.Execution) {
		return d
	}
	still := *d
	still.Parallel = 0
	return &still
}
