package reconcile

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/assayd/assayd/reconcile/budget"
	"github.com/assayd/assayd/reconcile/history"
	"github.com/assayd/assayd/reconcile/plan"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/trial"
)

// observation is what was observed of one run, or why it could not be read.
type observation struct {
	plan.Worklist
	err error
}

// observe reads what exists of some runs, in one transaction.
func (r *Reconciler) observe(ctx context.Context, addresses []string) []observation {
	all := make([]observation, len(addresses))
	err := r.o.Store.View(ctx, func(tx *store.Tx) error {
		for i, address := range addresses {
			all[i].Worklist, all[i].err = r.observed(tx, address)
		}
		return nil
	})
	for i := range all {
		if err != nil {
			all[i].err = err
		}
	}
	return all
}

// observeOne reads what exists of a run. Of the trials it has those that ask for something.
func (r *Reconciler) observeOne(ctx context.Context, address string) (plan.Observed, error) {
	seen := r.observe(ctx, []string{address})[0]
	return seen.Observed, seen.err
}

// observeAll reads what exists of a run, with all trials of its execution.
func (r *Reconciler) observeAll(ctx context.Context, address string) (o plan.Observed, err error) {
	err = r.o.Store.View(ctx, func(tx *store.Tx) error {
		if o, err = r.latest(tx, address); err != nil || o.Execution == nil {
			return err
		}
		o.Trials, err = r.trialsOf(tx, address, o.Execution.N)
		return err
	})
	return o, err
}

// latest is what exists of a run, but for the trials of its latest execution.
func (r *Reconciler) latest(tx *store.Tx, address string) (plan.Observed, error) {
	o := plan.Observed{Rerun: r.rerun[address], Stale: r.contents.stale[address], StaleSince: r.contents.since[address], Hold: heldOf(r, address, r.desired[address])}
	if since, gone := r.gone[address]; gone {
		o.GoneSince = r.line.Wall(since)
	}
	var err error
	if d := r.desired[address]; d == nil || d.Schedule != nil {
		if o.LastFired, err = lastFired(tx, address); err != nil {
			return o, err
		}
	}
	e, err := tx.LatestExecution(address)
	if errors.Is(err, store.ErrNotFound) {
		return o, nil
	}
	if err != nil {
		return o, err
	}
	o.Execution, err = history.ExecutionOf(e)
	return o, err
}

// lastFired is when a run's schedule fired last; zero = it never did.
func lastFired(tx *store.Tx, address string) (at time.Time, err error) {
	fired, err := tx.Meta(firedKey(address))
	if err != nil || fired == "" {
		return at, err
	}
	if at, err = time.Parse(time.RFC3339, fired); err != nil {
		return at, fmt.Errorf("last firing of %s: %w", address, err)
	}
	return at, nil
}

// observed is what a plan for a run is made from. The trials of an execution are read once; after
// that each is read when it has changed.
func (r *Reconciler) observed(tx *store.Tx, address string) (plan.Worklist, error) {
	o, err := r.latest(tx, address)
	d := r.desired[address]
	if err != nil || o.Execution == nil {
		return plan.NewCellIndex(d, nil).Worklist(o), err
	}
	x := r.cells[address]
	if x == nil && o.Execution.Over(d) {
		delete(r.changed, address)
		return plan.Over(d, o), nil
	}
	if x == nil || !x.Fits(d, o.Execution) {
		x = plan.NewCellIndex(d, o.Execution)
		if err := r.index(tx, address, x); err != nil {
			return plan.Worklist{}, err
		}
		r.cells[address] = x
	}
	for id := range r.changed[address] {
		row, err := tx.Trial(id)
		if errors.Is(err, store.ErrNotFound) || err == nil && row.Execution != o.Execution.N {
			continue // it was not stored, or is one of an earlier execution
		}
		if err != nil {
			return plan.Worklist{}, err
		}
		t, err := r.trialOf(row)
		if err != nil {
			return plan.Worklist{}, err
		}
		x.Put(t)
	}
	delete(r.changed, address)
	w := x.Worklist(o)
	w.Funds, err = budget.Funds(tx, d, address, o.Execution.N, w.Asking())
	return w, err
}

// index puts the trials of an execution in their index. Those that ask for nothing are not read.
func (r *Reconciler) index(tx *store.Tx, address string, x *plan.CellIndex) error {
	filled, err := history.AllFilled(tx)
	if err != nil {
		return err
	}
	if !filled { // some have no cell yet
		trials, err := r.trialsOf(tx, address, x.Execution())
		x.PutAll(trials)
		return err
	}
	if done, err := r.indexOpen(tx, address, x); done || err != nil {
		return err
	}
	var trials []plan.Trial
	var asking []string
	if err := tx.EachCell(address, x.Execution(), func(c store.CellRow) error {
		if r.live[c.Trial] != nil || !c.Stands || c.Status == string(trial.Cancelled) { // of what was cancelled, the budget counts
			asking = append(asking, c.Trial)
			return nil
		}
		trials = append(trials, plan.Trial{
			ID: c.Trial, Key: c.Key, Try: c.Try, Status: trial.Status(c.Status), Final: true, Unwanted: c.Unwanted, EndedAt: c.Finished,
			Slot: plan.Slot{Benchmark: c.Benchmark, Task: c.Task, Agent: c.Agent, Attempt: c.Attempt}, Superseded: c.Superseded,
		})
		return nil
	}); err != nil {
		return err
	}
	for _, id := range asking {
		row, err := tx.Trial(id)
		if err != nil {
			return err
		}
		t, err := r.trialOf(row)
		if err != nil {
			return err
		}
		trials = append(trials, t)
	}
	x.PutAll(trials)
	return nil
}

// touch says that a trial is read anew before the next plan is made, and that no summary from before
// counts any more.
func (r *Reconciler) touch(address, id string) {
	r.changes[address]++
	if r.changed[address] == nil {
		r.changed[address] = map[string]bool{}
	}
	r.changed[address][id] = true
}

// touchAll is touch for all trials of a run.
func (r *Reconciler) touchAll(address string) {
	delete(r.cells, address)
	r.changes[address]++
}

// trialsOf are all trials of an execution.
func (r *Reconciler) trialsOf(tx *store.Tx, address string, n int) ([]plan.Trial, error) {
	rows, err := tx.Trials(address, n)
	if err != nil {
		return nil, err
	}
	trials := make([]plan.Trial, len(rows))
	for i, row := range rows {
		if trials[i], err = r.trialOf(row); err != nil {
			return nil, err
		}
	}
	return trials, nil
}

// trialOf is a trial as plans see it.
func (r *Reconciler) trialOf(row store.TrialRow) (plan.Trial, error) {
	t := plan.Trial{ID: row.ID, Key: row.Cell, Try: row.Try, Status: trial.Status(row.Status), EndedAt: row.FinishedAt}
	if l, ok := r.live[row.ID]; ok {
		t.Live, t.Cancelled, t.Slot = true, l.cancelled, l.slot
		t.Status = ""
		return t, nil
	}
	s, err := history.StateOf(row)
	if err != nil {
		return t, err
	}
	t.Slot = plan.SlotOf(s.Cell)
	if t.Status == "" {
		return t, nil
	}
	t.EndedAt = s.Line.Wall(row.FinishedAt)
	t.Final, t.Unwanted, t.Again = s.Result != nil && s.Result.Final, s.Unwanted, s.Again
	if d := r.desired[row.Spec]; d != nil {
		t.Funded = plan.Funded(s, d.Total)
	}
	t.Superseded = s.Superseded()
	return t, nil
}
