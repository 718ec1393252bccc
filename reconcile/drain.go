package reconcile

import (
	"context"
	"slices"

	"github.com/assayd/assayd/reconcile/miningspec"
	"github.com/assayd/assayd/reconcile/plan"
)

// drain follows what a drain waits for: nobody has to ask again and again. It belongs to the loop's goroutine, but for
// over.
type drain struct {
	runs     *runs
	observer *observer
	minings  *miningspec.Minings
	on       bool            // no execution begins any more
	undone   map[string]bool // runs, by address
	over     chan struct{}   // closed when there is none
}

// begin returns what is closed when the drain is over.
func (d *drain) begin(ctx context.Context) chan struct{} {
	if d.on {
		return d.over
	}
	d.on = true
	d.minings.Stop("")
	for address := range d.runs.desired {
		d.undone[address] = true
	}
	for address := range d.runs.desired {
		d.follow(ctx, address)
	}
	d.end()
	return d.over
}

// follow looks whether a drain waits for a run that was just looked at. What is not known is waited
// for.
func (d *drain) follow(ctx context.Context, address string) {
	if !d.on {
		return
	}
	open := false
	if run := d.runs.desired[address]; run != nil {
		o, err := d.observer.one(ctx, address)
		if open = err != nil || undone(run, o); err != nil {
			d.runs.queue.Retry(address, d.runs.now())
		}
	}
	if open {
		d.undone[address] = true
	} else {
		delete(d.undone, address)
	}
}

// end tells those that wait for the end of a drain that it has come.
func (d *drain) end() {
	if !d.on || len(d.undone) > 0 {
		return
	}
	select {
	case <-d.over:
	default:
		close(d.over)
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

// limited is the run as it is wanted: of one that grows a drain has no cell start.
func (d *drain) limited(run *plan.Run, o plan.Observed) *plan.Run {
	if !d.on || run == nil || o.Execution == nil || !run.MayGrow(*o.Execution) {
		return run
	}
	still := *run
	still.Parallel = 0
	return &still
}
