package reconcile

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/assayd/assayd/reconcile/admission"
	"github.com/assayd/assayd/reconcile/cheatscan"
	"github.com/assayd/assayd/reconcile/control"
	"github.com/assayd/assayd/reconcile/history"
	"github.com/assayd/assayd/reconcile/plan"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/clock"
	"github.com/assayd/assayd/runtime/fault"
	"github.com/assayd/assayd/runtime/trial"
)

// execute carries out one action and reports whether the plan's others may follow. It
// decides nothing but whether there is room for another container.
func (r *Reconciler) execute(ctx context.Context, address string, a plan.Action) (more bool, err error) {
	switch a.Kind {
	case plan.Begin:
		return true, r.begin(ctx, address, a)
	case plan.Skip:
		return true, r.skip(ctx, address, a)
	case plan.Recount:
		return true, r.recount(ctx, address, a)
	case plan.StartTrial:
		return r.startTrial(ctx, address, a)
	case plan.CancelTrial:
		return true, r.cancelTrial(ctx, a)
	case plan.Supersede, plan.Reinstate:
		return true, r.supersede(ctx, address, a)
	case plan.Settle, plan.Finish:
		return r.finish(ctx, address, a)
	case plan.Forget:
		return true, r.forget(ctx, address)
	case plan.Blocked, plan.Wait:
		r.note(address, a.Cause)
	}
	return true, nil
}

type runStarted struct {
	Trials  int         `json:"trials"`
	Trigger string      `json:"trigger"`
	Differs *plan.Stale `json:"differs,omitempty"` // from the content of the execution before
}

func (r *Reconciler) begin(ctx context.Context, address string, a plan.Action) error {
	if a.Trigger != "rerun" {
		r.specs.Freshen(ctx, address)
	}
	run := r.specs.Set().Run(strings.TrimPrefix(address, "run."))
	if run == nil {
		return nil // the next pass sees that it is gone
	}
	if folder, _ := r.specs.Set().PendingFolder(run); folder != "" {
		r.note(address, plan.WaitsFor(r.specs.Set(), run))
		return nil // when it is there, the run is looked at again
	}
	var d *plan.Run
	var c *plan.Content
	line := clock.Begin()
	err := r.o.Store.Do(ctx, func(tx *store.Tx) (err error) {
		p := r.pinner(tx, r.specs.Set())
		if d, err = p.Newest(run); err != nil {
			return err
		}
		if c, err = p.Begun(run, a.Execution); err != nil {
			return err
		}
		data, err := json.Marshal(history.ExecutionData{Only: a.Only, Line: line, Content: c.Layers, Differs: r.contents.stale[address]})
		if err != nil {
			return err
		}
		if err := tx.PutMeta(staleKey(address), ""); err != nil {
			return err
		}
		if !a.At.IsZero() {
			if err := tx.PutMeta(history.FiredKey(address), plan.Stamp(a.At)); err != nil {
				return err
			}
		}
		row := store.ExecutionRow{Spec: address, N: a.Execution, Trigger: a.Trigger, StartedAt: line.Now(), Data: data}
		if err := tx.PutExecution(row); err != nil {
			return err
		}
		if asked := r.rerun[address]; a.Trigger == "rerun" && asked != nil && asked.Name != "" {
			record := &control.Record{Action: control.Rerun, Target: asked.Name, By: asked.By, Via: control.Via(asked.Via)}
			if err := record.Append(tx, placeIn(r, address, a.Execution)); err != nil {
				return err
			}
		}
		_, err = tx.AppendLine(r.specs.Stream(address), r.envelope(address, "run.started", a.Execution), runStarted{d.WantedIn(plan.Execution{Only: a.Only}), a.Trigger, r.contents.stale[address]})
		return err
	})
	if err != nil {
		return err
	}
	fault.Reached(fault.RunBegun)
	r.desired[address], r.contents.of[address] = d, c
	r.contents.differ(address, nil, nil)
	delete(r.rerun, address)
	r.o.Log.Info("run started", "spec", address, "execution", a.Execution, "cause", a.Cause)
	r.queue.add(address, r.now())
	return nil
}

// startTrial admits and starts a trial, its next try, or one that a former daemon drove.
func (r *Reconciler) startTrial(ctx context.Context, address string, a plan.Action) (more bool, err error) {
	state, stored, err := r.nextState(ctx, address, a)
	if err != nil {
		return false, err
	}
	need, err := r.needOf(ctx, state)
	if err != nil {
		return false, err
	}
	if state.Container != "" {
		need = r.waitlist.Take(state.ID, need) // it runs already
	} else if why, ok := r.waitlist.Admit(address, need, r.now()); !ok {
		if why != "" {
			r.note(address, why)
		}
		return false, nil
	}
	state.DiskHeld = need.Disk
	if err := r.commitChanged(ctx, state, stored); err != nil {
		r.o.Admission.ReleaseWork(need)
		return false, err
	}
	r.drive(state, need)
	r.started++
	return true, nil
}

// unseenDisk is reserved for a container of a task of which none was seen, in bytes.
const unseenDisk = 1 << 30

// needOf is what is reserved for a trial. Few containers take the disk that they may: of it the
// most is reserved that was seen with the task, and a fifth.
func (r *Reconciler) needOf(ctx context.Context, s trial.State) (admission.Need, error) {
	work := s.Cell.Task.Work
	n := admission.Need{CPUs: work.CPUs, Memory: work.Memory, Disk: unseenDisk}
	err := r.o.Store.View(ctx, func(tx *store.Tx) error {
		seen, err := seenDisk(tx, s)
		if seen > 0 {
			n.Disk = seen + seen/5
		}
		return err
	})
	if work.Disk > 0 {
		n.Disk = min(n.Disk, work.Disk)
	}
	return n, err
}

func diskKey(s trial.State) string { return "disk/" + plan.TaskAddressOf(s) }

// seenDisk is the most that a container of the trial's task was seen to take; 0 = none was seen.
func seenDisk(tx *store.Tx, s trial.State) (int64, error) {
	text, err := tx.Meta(diskKey(s))
	if err != nil || text == "" {
		return 0, err
	}
	seen, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("read what disk %s takes: %w", plan.TaskAddressOf(s), err)
	}
	return seen, nil
}

// noteDisk keeps what the trial's container took for the next ones of its task.
func noteDisk(tx *store.Tx, s trial.State) error {
	seen, err := seenDisk(tx, s)
	if err != nil || s.DiskSeen <= seen {
		return err
	}
	return tx.PutMeta(diskKey(s), strconv.FormatInt(s.DiskSeen, 10))
}

// stateAs is the stored state of a trial, or fresh where there is none, by its name: the first one that
// no other cell's trial has. With it comes what is stored, nil where nothing is.
func stateAs(tx *store.Tx, fresh trial.State) (s trial.State, stored []byte, err error) {
	ids := trial.IDs(strings.TrimPrefix(fresh.Spec, "run."), fresh.Execution, fresh.Key)
	if !slices.Contains(ids, fresh.ID) { // the first version had another key for the cell
		ids = append([]string{fresh.ID}, ids...)
	}
	for _, id := range ids {
		row, err := tx.Trial(id)
		switch {
		case errors.Is(err, store.ErrNotFound):
			fresh.ID = id
			return fresh, nil, nil
		case err != nil:
			return fresh, nil, err
		case row.Cell == fresh.Key:
			s, err = history.StateOf(row)
			return s, row.Data, err
		}
	}
	return fresh, nil, fmt.Errorf("the names of trial %s belong to other cells", fresh.ID)
}

// nextState is the state that a start begins with, and what of the trial is stored.
func (r *Reconciler) nextState(ctx context.Context, address string, a plan.Action) (state trial.State, stored []byte, err error) {
	fresh := trial.State{ID: a.Trial, Spec: address, Key: a.Cell.Key, Try: 1, Phase: trial.Pending}
	if a.Cell.Declared() {
		fresh.Cell = a.Cell.Whole()
	}
	if err := r.o.Store.View(ctx, func(tx *store.Tx) error {
		e, err := tx.LatestExecution(address)
		if err != nil {
			return err
		}
		fresh.Execution = e.N
		state, stored, err = stateAs(tx, fresh)
		return err
	}); err != nil {
		return state, nil, err
	}
	d := r.desired[address]
	if state.Phase == trial.Done {
		if d != nil && plan.Funded(state, d.Total) { // its verdict was that it could not be paid for
			open := *state.Result
			open.Final = false
			state.Result = &open
		}
		if state, err = trial.Restarted(state); err != nil {
			return state, nil, err
		}
		if d != nil {
			state.Cell.Total = d.Total
		}
	}
	if d != nil {
		state.Generation, state.Retries, state.Keep = d.Generation, d.Retries, d.Keep
	}
	return state, stored, nil
}

// commitChanged stores a trial's state unless it is stored: after a crash a thousand trials go on as they were.
func (r *Reconciler) commitChanged(ctx context.Context, s trial.State, stored []byte) error {
	if data, err := json.Marshal(s); err == nil && bytes.Equal(data, stored) {
		return nil
	}
	return r.commit(ctx, s, nil)
}

// commit stores a trial's state and the records that report it, in one transaction. A new
// trial in an execution that was over opens it again.
func (r *Reconciler) commit(ctx context.Context, s trial.State, effects []trial.Effect) error {
	data, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("encode trial %s: %w", s.ID, err)
	}
	row := store.TrialRow{
		ID: s.ID, Spec: s.Spec, Execution: s.Execution, Cell: s.Key, Try: s.Try, Phase: string(s.Phase), Wanted: !s.Unwanted, Data: data,
	}
	if s.Phase == trial.Done {
		row.Status, row.FinishedAt = string(s.Result.Status), s.Line.Now()
	}
	if s.Phase == trial.Done && s.Cell.Mode == trial.Single {
		defer func() { r.Foreign.Stale(s.Spec) }() // also when it failed: then nothing has changed
	}
	scan, looked := cheatscan.Of(s)
	err = r.o.Store.Do(ctx, func(tx *store.Tx) error {
		if looked {
			if err := tx.PutMeta(scan.Mark()); err != nil {
				return err
			}
		}
		if s.Phase == trial.Pending {
			if err := history.Reopen(tx, s.Spec); err != nil {
				return err
			}
		}
		if err := history.PutTrial(tx, row, s); err != nil {
			return err
		}
		if s.Phase == trial.Done {
			if err := errors.Join(noteDisk(tx, s), r.Orders.Drop(tx, s)); err != nil {
				return err
			}
		}
		for _, e := range effects {
			if err := history.AppendEffect(tx, s, e); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if s.Phase == trial.Done {
		r.Orders.Forget(s)
	}
	if looked {
		r.scans.Add(scan)
	}
	return nil
}

// cancelTrial asks a trial to end; one that no goroutine drives is driven to its end.
func (r *Reconciler) cancelTrial(ctx context.Context, a plan.Action) error {
	l, ok := r.live[a.Trial]
	if !ok {
		state, err := r.stored(ctx, a.Trial)
		if err != nil {
			return err
		}
		switch {
		case state.Phase == trial.Done && state.Result.Final:
			return isOver(a.Trial)
		case state.Phase == trial.Done: // between two tries
			return r.giveUp(ctx, state, a)
		}
		need, err := r.needOf(ctx, state)
		if err != nil {
			return err
		}
		l = r.drive(state, r.waitlist.Take(state.ID, need))
	}
	l.cancelled = true
	r.cells.Touch(l.spec, a.Trial)
	l.machine.Cancel(trial.Cancellation{Cause: a.Cause, Unwanted: a.Unwanted})
	return nil
}

func isOver(id string) error { return fmt.Errorf("cancel %s: it is over", id) }

// stored is the state of a trial as it is in the store.
func (r *Reconciler) stored(ctx context.Context, id string) (state trial.State, err error) {
	err = r.o.Store.View(ctx, func(tx *store.Tx) error {
		state, err = storedState(tx, id)
		return err
	})
	return state, err
}

func storedState(tx *store.Tx, id string) (trial.State, error) {
	row, err := tx.Trial(id)
	if err != nil {
		return trial.State{}, err
	}
	return history.StateOf(row)
}

// giveUp makes the last try of a trial count, because there will be no other.
func (r *Reconciler) giveUp(ctx context.Context, s trial.State, a plan.Action) error {
	final := *s.Result
	final.Final, final.Detail = true, a.Cause+"; "+final.Detail
	if err := r.o.Host.Charge(ctx, s, &final); err != nil { // what it took is not lost any more
		return err
	}
	s.Result, s.Unwanted = &final, a.Unwanted
	r.cells.Touch(s.Spec, s.ID)
	r.queue.add(s.Spec, r.now()) // no goroutine ends that would ask for it
	return r.commit(ctx, s, []trial.Effect{{Type: "trial.finished", Fields: final}})
}

type specRemoved struct {
	Cause string `json:"cause"`
}

// forget ends what is known of a spec that is gone; its results stay.
func (r *Reconciler) forget(ctx context.Context, address string) error {
	delete(r.gone, address)
	delete(r.rerun, address)
	r.cells.Forget(address)
	delete(r.sums, address)
	r.shown.show(address)
	r.o.Log.Info("spec removed", "spec", address)
	r.waitlist.Rank(address, 0)
	ended := func() {} // its holds
	err := r.o.Store.Do(ctx, func(tx *store.Tx) (err error) {
		if ended, err = r.Desk.Forget(tx, address); err != nil {
			return err
		}
		path, err := tx.Meta(history.HomeKey(address))
		if err != nil || path == "" {
			return err
		}
		if err := errors.Join(tx.PutMeta(history.HomeKey(address), ""), tx.PutMeta(history.ScheduleKey(address), ""), tx.PutMeta(history.BegunKey(address), "")); err != nil {
			return err
		}
		_, err = tx.AppendLine(r.specs.StatusStream(path, r.specs.Root(path)), store.Envelope{Type: "spec.removed", Spec: address}, specRemoved{"no file declares it"})
		return err
	})
	if err == nil {
		ended()
	}
	return err
}
