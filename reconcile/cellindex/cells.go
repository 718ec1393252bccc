package cellindex

import (
	"errors"

	"github.com/assayd/assayd/reconcile/budget"
	"github.com/assayd/assayd/reconcile/history"
	"github.com/assayd/assayd/reconcile/plan"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/trial"
)

// Options are what Cells are made of.
type Options struct {
	Desired func(address string) *plan.Run         // the run as it is wanted; nil = it is not
	Driven  func(id string) (d Driven, ok bool)    // ok: a goroutine drives the trial
	Drives  func(address string) (trials []string) // ids of the trials of a run that are driven
}

// Driven is what is known of a trial that a goroutine drives, and not from the store.
type Driven struct {
	Slot      plan.Slot
	Cancelled bool
}

// Cells are the trials of the latest executions that are open, by run. They belong to the loop's goroutine.
type Cells struct {
	o       Options
	indices map[string]*plan.CellIndex // by address
	changed map[string]map[string]bool // trials that are not in their index as they are now, by address and id
	changes map[string]int             // how often trials of a run have changed, by address
}

// New returns cells of which nothing was read yet.
func New(o Options) *Cells {
	return &Cells{o: o, indices: map[string]*plan.CellIndex{}, changed: map[string]map[string]bool{}, changes: map[string]int{}}
}

// Touch says that a trial is read again before the next plan is made, and that no summary from before
// counts any more.
func (c *Cells) Touch(address, id string) {
	c.changes[address]++
	if c.changed[address] == nil {
		c.changed[address] = map[string]bool{}
	}
	c.changed[address][id] = true
}

// TouchAll is Touch for all trials of a run.
func (c *Cells) TouchAll(address string) {
	c.Drop(address)
	c.changes[address]++
}

// Changes counts how often trials of a run have changed, since the daemon began.
func (c *Cells) Changes(address string) int { return c.changes[address] }

// Drop has the trials of a run read again when they are next needed.
func (c *Cells) Drop(address string) { delete(c.indices, address) }

// DropAll is Drop for all runs.
func (c *Cells) DropAll() { clear(c.indices) }

// Forget ends what is known of a run.
func (c *Cells) Forget(address string) {
	delete(c.indices, address)
	delete(c.changed, address)
	delete(c.changes, address)
}

// Worklist is what a plan for a run is made from. o is what exists of the run, but for its trials.
func (c *Cells) Worklist(tx *store.Tx, address string, o plan.Observed) (plan.Worklist, error) {
	d := c.o.Desired(address)
	if o.Execution == nil {
		return plan.NewCellIndex(d, nil).Worklist(o), nil
	}
	x := c.indices[address]
	if x == nil && o.Execution.Over(d) {
		delete(c.changed, address)
		return plan.Over(d, o), nil
	}
	if x == nil || !x.Fits(d, o.Execution) {
		x = plan.NewCellIndex(d, o.Execution)
		if err := c.index(tx, address, x); err != nil {
			return plan.Worklist{}, err
		}
		c.indices[address] = x
	}
	for id := range c.changed[address] {
		row, err := tx.Trial(id)
		if errors.Is(err, store.ErrNotFound) || err == nil && row.Execution != o.Execution.N {
			continue // it was not stored, or is one of an earlier execution
		}
		if err != nil {
			return plan.Worklist{}, err
		}
		t, err := c.trialOf(row)
		if err != nil {
			return plan.Worklist{}, err
		}
		x.Put(t)
	}
	delete(c.changed, address)
	w := x.Worklist(o)
	var err error
	w.Funds, err = budget.Funds(tx, d, address, o.Execution.N, w.Asking())
	return w, err
}

// index puts the trials of an execution in their index. Those that ask for nothing are not read.
func (c *Cells) index(tx *store.Tx, address string, x *plan.CellIndex) error {
	filled, err := history.AllFilled(tx)
	if err != nil {
		return err
	}
	if !filled { // some have no cell yet
		trials, err := c.All(tx, address, x.Execution())
		x.PutAll(trials)
		return err
	}
	if done, err := c.indexOpen(tx, address, x); done || err != nil {
		return err
	}
	var trials []plan.Trial
	var asking []string
	if err := tx.EachCell(address, x.Execution(), func(row store.CellRow) error {
		_, driven := c.o.Driven(row.Trial)
		if driven || !row.Stands || row.Status == string(trial.Cancelled) { // of what was cancelled, the budget counts
			asking = append(asking, row.Trial)
			return nil
		}
		trials = append(trials, plan.Trial{
			ID: row.Trial, Key: row.Key, Try: row.Try, Status: trial.Status(row.Status), Final: true, Unwanted: row.Unwanted, EndedAt: row.Finished,
			Slot: plan.Slot{Benchmark: row.Benchmark, Task: row.Task, Agent: row.Agent, Attempt: row.Attempt}, Superseded: row.Superseded,
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
		t, err := c.trialOf(row)
		if err != nil {
			return err
		}
		trials = append(trials, t)
	}
	x.PutAll(trials)
	return nil
}

// All are all trials of an execution.
func (c *Cells) All(tx *store.Tx, address string, n int) ([]plan.Trial, error) {
	rows, err := tx.Trials(address, n)
	if err != nil {
		return nil, err
	}
	trials := make([]plan.Trial, len(rows))
	for i, row := range rows {
		if trials[i], err = c.trialOf(row); err != nil {
			return nil, err
		}
	}
	return trials, nil
}

// trialOf is a trial as plans see it.
func (c *Cells) trialOf(row store.TrialRow) (plan.Trial, error) {
	t := plan.Trial{ID: row.ID, Key: row.Cell, Try: row.Try, Status: trial.Status(row.Status), EndedAt: row.FinishedAt}
	if d, ok := c.o.Driven(row.ID); ok {
		t.Live, t.Cancelled, t.Slot = true, d.Cancelled, d.Slot
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
	if d := c.o.Desired(row.Spec); d != nil {
		t.Funded = plan.Funded(s, d.Total)
	}
	t.Superseded = s.Superseded()
	return t, nil
}
