package reconcile

import (
	"context"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile/cellindex"
	"github.com/assayd/assayd/reconcile/control"
	"github.com/assayd/assayd/reconcile/history"
	"github.com/assayd/assayd/reconcile/pinned"
	"github.com/assayd/assayd/reconcile/plan"
	"github.com/assayd/assayd/reconcile/specs"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/reconcile/workqueue"
	"github.com/assayd/assayd/runtime/clock"
	"github.com/assayd/assayd/runtime/trial"
)

// runs are what the loop knows of runs and mining specs, and of when to look at which. They belong to the loop's
// goroutine.
type runs struct {
	store    *store.Store
	log      *slog.Logger
	line     clock.Timeline // of now; begun with the reconciler
	step     time.Duration  // by which the wall clock is ahead of line
	specs    *specs.Source
	contents *pinned.Contents
	cells    *cellindex.Cells
	queue    *workqueue.Queue
	shown    unpublished
	host     string // folder for the records about the whole host
	desired  map[string]*plan.Run
	gone     map[string]time.Time // since when a block with history is missed
	notes    map[string]string    // what a run waits for, for the status
	rerun    map[string]*plan.Rerun
}

func newRuns(o Options) *runs {
	r := &runs{
		store: o.Store, log: o.Log, line: clock.Begin(), queue: workqueue.New(), shown: unpublished{changed: map[string]bool{}, all: true},
		host: filepath.Join(o.Host.StateDir, "results"), desired: map[string]*plan.Run{}, gone: map[string]time.Time{}, notes: map[string]string{},
		rerun: map[string]*plan.Rerun{},
	}
	if len(o.Roots) > 0 {
		r.host = o.Roots[0]
	}
	return r
}

// wanted is a run as it is wanted; nil = it is not.
func (r *runs) wanted(address string) *plan.Run { return r.desired[address] }

// known reports whether there is a run, or was one that has not ended.
func (r *runs) known(address string) bool {
	_, gone := r.gone[address]
	return gone || r.desired[address] != nil
}

// due has a run or mining spec looked at now.
func (r *runs) due(address string) { r.queue.Add(address, r.now()) }

// changed is due for what is shown otherwise now.
func (r *runs) changed(address string) {
	r.shown.show(address)
	r.due(address)
}

// now is what the time is for whatever the loop waits for by itself: setting the wall clock
// neither delays nor hurries it.
func (r *runs) now() time.Time { return r.line.Now() }

// stamped is a time of the loop as others may have stamped it, who have nothing but the
// wall clock: the earlier of what that showed before it was set and what it would show now.
// What bears a later stamp is surely younger.
func (r *runs) stamped(at time.Time) time.Time {
	if wall := r.line.Wall(at); wall.Before(at) {
		return wall
	}
	return at
}

// onClockStep takes in that the wall clock was set: the next firing of a schedule, which is a time
// of day, is another moment then.
func (r *runs) onClockStep() {
	now := r.now()
	step := r.line.Wall(now).Sub(now)
	if step == r.step {
		return
	}
	r.log.Warn("the wall clock was set", "by", step-r.step)
	r.step = step
	r.cells.DropAll() // when tries ended is another time of day
	for address, d := range r.desired {
		if d.Schedule != nil {
			r.queue.Add(address, now)
		}
	}
}

// note says for what a run waits.
func (r *runs) note(address, why string) {
	r.notes[address] = why
	r.shown.show(address)
}

// miss notes that no file declares a spec any more.
func (r *runs) miss(address string, now time.Time) {
	if _, ok := r.gone[address]; !ok {
		r.gone[address] = now
	}
	r.shown.show(address)
	r.queue.Add(address, now)
}

// envelope is the envelope of a record about a run.
func (r *runs) envelope(address, typ string, execution int) store.Envelope {
	e := store.Envelope{Type: typ, Spec: address, Execution: execution}
	if d := r.desired[address]; d != nil {
		e.Generation = d.Generation
	}
	return e
}

// graced reports whether a block is gone only for so short that it may come back, and says so.
func (r *runs) graced(address string) bool {
	until := r.gone[address].Add(plan.RemovalGrace)
	if !r.now().Before(until) {
		return false
	}
	r.note(address, "the block is gone; it ends at "+plan.Stamp(r.line.Wall(until)))
	r.queue.Add(address, until)
	return true
}

// controlStream has the records about what is held of the whole host.
const controlStream = "control"

// place says where records about a target go.
func (r *runs) place(target string) control.Place {
	if strings.HasPrefix(target, "run.") || plan.IsMining(target) {
		p := control.Place{Stream: r.specs.Stream(target)}
		if m := r.specs.Mining(target); m != nil {
			p.Generation = m.Generation
		} else if d := r.desired[target]; d != nil {
			p.Generation = d.Generation
		}
		return p
	}
	return control.Place{Host: true, Stream: r.specs.Placed(store.StreamRef{Spec: controlStream, Root: r.host, Path: filepath.Join(r.host, "assayd.control.jsonl")})}
}

// placeIn is place for what belongs to an execution.
func (r *runs) placeIn(address string, execution int) control.Place {
	p := r.place(address)
	p.Execution = execution
	return p
}

// orphans prepares the sweep: it has runs looked at that are open in the store and that no
// file declares, and returns the containers that stay because their trials are open.
func (r *runs) orphans(ctx context.Context) (keep map[string]bool, err error) {
	open, err := history.OpenTrials(ctx, r.store)
	if err != nil {
		return nil, err
	}
	keep = map[string]bool{}
	for _, s := range open {
		keep[s.Workload.Name] = true
	}
	err = r.store.View(ctx, func(tx *store.Tx) error {
		executions, err := tx.OpenExecutions()
		if err != nil {
			return err
		}
		for _, e := range executions {
			if r.desired[e.Spec] == nil {
				r.miss(e.Spec, r.now())
			}
		}
		return nil
	})
	return keep, err
}

// sameSlot is the key of the cell that a run has now where a trial's was; nil = there is none.
func (r *runs) sameSlot(address string, s trial.State) (only []string) {
	now := r.contents.Newest(address)
	if now == nil {
		now = r.desired[address]
	}
	if now == nil {
		return nil
	}
	for _, c := range now.Cells() {
		switch {
		case c.Key == s.Key:
			return []string{c.Key}
		case c.Slot() == plan.SlotOf(s.Cell):
			only = []string{c.Key}
		}
	}
	return only
}

// grown has the runs know of the tasks that take them of a mining spec.
func (r *runs) grown(ctx context.Context, name string) {
	if r.specs.Set() == nil {
		return
	}
	compiler := plan.NewCompiler(r.specs.Set())
	for i := range r.specs.Set().Blocks.Runs {
		run := &r.specs.Set().Blocks.Runs[i]
		if !slices.ContainsFunc(run.Tasks, func(ref config.Ref) bool { return ref.Kind == "mining" && ref.Name == name }) {
			continue
		}
		address := run.Address()
		var d *plan.Run
		var err error
		if was := r.desired[address]; r.contents.Stale(address) == nil && (was == nil || was.MadeFrom(r.specs.Set())) {
			d, err = compiler.Grow(was, run)
		} else {
			d, err = r.contents.Again(ctx, r.specs.Set(), run)
		}
		if err != nil {
			r.log.Error("compile", "spec", address, "error", err)
			continue
		}
		r.desired[address] = d
		r.changed(address)
	}
}
