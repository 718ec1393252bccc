package reconcile

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/assayd/assayd/reconcile/admission"
	"github.com/assayd/assayd/reconcile/cheatscan"
	"github.com/assayd/assayd/reconcile/control"
	"github.com/assayd/assayd/reconcile/drive"
	"github.com/assayd/assayd/reconcile/foreign"
	"github.com/assayd/assayd/reconcile/history"
	"github.com/assayd/assayd/reconcile/pinned"
	"github.com/assayd/assayd/reconcile/plan"
	"github.com/assayd/assayd/reconcile/request"
	"github.com/assayd/assayd/reconcile/retention"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/clock"
	"github.com/assayd/assayd/runtime/fault"
	"github.com/assayd/assayd/runtime/trial"
)

// executions carry out what a plan says about the executions of runs, with the records that report it. They belong to
// the loop's goroutine.
type executions struct {
	runs      *runs
	store     *store.Store
	log       *slog.Logger
	observer  *observer
	trials    *drive.Trials
	scans     *cheatscan.Scanner
	foreign   *foreign.Reports
	retention *retention.Collector
	desk      *control.Desk
	waitlist  *admission.Waitlist
	images    *pinned.Images
	summaries *finalSummaries
	pace      *pace
	finished  chan struct{} // holds a value when executions have finished
}

// execute carries out one action and reports whether the plan's others may follow. It
// decides nothing but whether there is room for another container.
func (x *executions) execute(ctx context.Context, address string, a plan.Action) (more bool, err error) {
	switch a.Kind {
	case plan.Begin:
		return true, x.begin(ctx, address, a)
	case plan.Skip:
		return true, x.skip(ctx, address, a)
	case plan.Recount:
		return true, x.recount(ctx, address, a)
	case plan.StartTrial:
		more, err := x.trials.Start(ctx, address, a)
		if more {
			x.pace.started++
		}
		return more, err
	case plan.CancelTrial:
		return true, x.trials.Cancel(ctx, a)
	case plan.Supersede, plan.Reinstate:
		return true, x.supersede(ctx, address, a)
	case plan.Settle, plan.Finish:
		return x.finish(ctx, address, a)
	case plan.Forget:
		return true, x.forget(ctx, address)
	case plan.Blocked, plan.Wait:
		x.runs.note(address, a.Cause)
	}
	return true, nil
}

type runStarted struct {
	Trials  int         `json:"trials"`
	Trigger string      `json:"trigger"`
	Differs *plan.Stale `json:"differs,omitempty"` // from the content of the execution before
}

func (x *executions) begin(ctx context.Context, address string, a plan.Action) error {
	if a.Trigger != "rerun" {
		x.runs.specs.Freshen(ctx, address)
	}
	run := x.runs.specs.Set().Run(strings.TrimPrefix(address, "run."))
	if run == nil {
		return nil // the next pass sees that it is gone
	}
	if folder, _ := x.runs.specs.Set().PendingFolder(run); folder != "" {
		x.runs.note(address, plan.WaitsFor(x.runs.specs.Set(), run))
		return nil // when it is there, the run is looked at again
	}
	var d *plan.Run
	var c *plan.Content
	line := clock.Begin()
	err := x.store.Do(ctx, func(tx *store.Tx) (err error) {
		p := x.runs.contents.Compiler(tx, x.runs.specs.Set())
		if d, err = p.Newest(run); err != nil {
			return err
		}
		if c, err = p.Begun(run, a.Execution); err != nil {
			return err
		}
		data, err := json.Marshal(history.ExecutionData{Only: a.Only, Line: line, Content: c.Layers, Differs: x.runs.contents.Stale(address)})
		if err != nil {
			return err
		}
		if err := tx.PutMeta(history.StaleKey(address), ""); err != nil {
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
		if asked := x.runs.rerun[address]; a.Trigger == "rerun" && asked != nil && asked.Name != "" {
			record := &control.Record{Action: control.Rerun, Target: asked.Name, By: asked.By, Via: control.Via(asked.Via)}
			if err := record.Append(tx, x.runs.placeIn(address, a.Execution)); err != nil {
				return err
			}
		}
		_, err = tx.AppendLine(x.runs.specs.Stream(address), x.runs.envelope(address, "run.started", a.Execution), runStarted{d.WantedIn(plan.Execution{Only: a.Only}), a.Trigger, x.runs.contents.Stale(address)})
		return err
	})
	if err != nil {
		return err
	}
	fault.Reached(fault.RunBegun)
	x.runs.desired[address] = d
	x.runs.contents.Put(address, c, nil, nil)
	delete(x.runs.rerun, address)
	x.log.Info("run started", "spec", address, "execution", a.Execution, "cause", a.Cause)
	x.runs.due(address)
	return nil
}

type specRemoved struct {
	Cause string `json:"cause"`
}

// forget ends what is known of a spec that is gone; its results stay.
func (x *executions) forget(ctx context.Context, address string) error {
	delete(x.runs.gone, address)
	delete(x.runs.rerun, address)
	x.runs.cells.Forget(address)
	x.summaries.drop(address)
	x.runs.shown.show(address)
	x.log.Info("spec removed", "spec", address)
	x.waitlist.Rank(address, 0)
	ended := func() {} // its holds
	err := x.store.Do(ctx, func(tx *store.Tx) (err error) {
		if ended, err = x.desk.Forget(tx, address); err != nil {
			return err
		}
		path, err := tx.Meta(history.HomeKey(address))
		if err != nil || path == "" {
			return err
		}
		if err := errors.Join(tx.PutMeta(history.HomeKey(address), ""), tx.PutMeta(history.ScheduleKey(address), ""), tx.PutMeta(history.BegunKey(address), "")); err != nil {
			return err
		}
		_, err = tx.AppendLine(x.runs.specs.StatusStream(path, x.runs.specs.Root(path)), store.Envelope{Type: "spec.removed", Spec: address}, specRemoved{"no file declares it"})
		return err
	})
	if err == nil {
		ended()
	}
	return err
}

type runSkipped struct {
	Fired time.Time `json:"fired"`
	Cause string    `json:"cause"`
}

// skip records a firing that nothing follows.
func (x *executions) skip(ctx context.Context, address string, a plan.Action) error {
	x.log.Warn("firing skipped", "spec", address, "cause", a.Cause)
	x.runs.due(address) // for the firing after this one
	return x.store.Do(ctx, func(tx *store.Tx) error {
		if err := tx.PutMeta(history.FiredKey(address), plan.Stamp(a.At)); err != nil {
			return err
		}
		_, err := tx.AppendLine(x.runs.specs.Stream(address), x.runs.envelope(address, "run.skipped", a.Execution), runSkipped{a.At, a.Cause})
		return err
	})
}

// recount lets the firings of a schedule count from now on.
func (x *executions) recount(ctx context.Context, address string, a plan.Action) error {
	x.log.Warn("the schedule counts from now on", "spec", address, "cause", a.Cause)
	x.runs.due(address) // for the firing after this one
	return x.store.Do(ctx, func(tx *store.Tx) error { return tx.PutMeta(history.FiredKey(address), plan.Stamp(a.At)) })
}

// supersede marks an ended trial and records why, or takes the mark away: the record of its
// verdict is then written again, and the last record of a trial says whether it counts.
func (x *executions) supersede(ctx context.Context, address string, a plan.Action) error {
	x.foreign.Stale(address)
	x.runs.cells.Touch(address, a.Trial)
	err := x.store.Do(ctx, func(tx *store.Tx) error {
		row, err := tx.Trial(a.Trial)
		if err != nil {
			return err
		}
		s, err := history.StateOf(row)
		if err != nil || s.Superseded() == (a.Kind == plan.Supersede) {
			return err
		}
		if err := history.Reopen(tx, address); err != nil { // its summary is another one now
			return err
		}
		if a.Kind == plan.Supersede {
			return history.MarkSuperseded(tx, row, s, trial.Superseded{Trial: a.Trial, By: a.By, Because: a.Cause})
		}
		s.Replaced = nil
		if err := history.PutState(tx, row, s); err != nil {
			return err
		}
		_, err = tx.AppendLine(store.StreamRef{Spec: address}, history.Envelope("trial.finished", s), s.Result)
		return err
	})
	if err == nil {
		x.runs.due(address)
		x.retention.Changed()
	}
	return err
}

// cancel ends the present execution of a run, with a record.
func (x *executions) cancel(ctx context.Context, address string, a control.Ask) (control.Changed, error) {
	c := control.Changed{Target: address, Changed: true, State: control.Cancelling, Says: address + " is being cancelled"}
	if x.runs.rerun[address] != nil { // it has not begun yet
		if !a.DryRun {
			delete(x.runs.rerun, address)
			x.runs.shown.show(address)
		}
		return c, nil
	}
	record := control.NewRecord(ctx, control.Cancel, address)
	record.Reason = a.Reason
	err := x.store.Do(ctx, func(tx *store.Tx) error {
		e, err := tx.LatestExecution(address)
		if errors.Is(err, store.ErrNotFound) {
			return fmt.Errorf("cancel %s: %w", address, request.ErrNothing)
		}
		var d history.ExecutionData
		if err = errors.Join(err, json.Unmarshal(e.Data, &d)); err != nil {
			return err
		}
		switch {
		case d.Cancelled && !e.FinishedAt.IsZero():
			c.Changed, c.State, c.Says = false, control.Cancelled, fmt.Sprintf("%s: execution e%d is cancelled", address, e.N)
			return nil
		case d.Cancelled:
			c.Changed = false
			return nil
		case !e.FinishedAt.IsZero():
			return fmt.Errorf("cancel %s: %w: execution e%d is over", address, request.ErrNothing, e.N)
		case a.DryRun:
			return nil
		}
		d.Cancelled = true
		if e.Data, err = json.Marshal(d); err != nil {
			return err
		}
		return errors.Join(tx.PutExecution(e), record.Append(tx, x.runs.placeIn(address, e.N)))
	})
	if err == nil && c.Changed && !a.DryRun {
		x.runs.due(address)
	}
	return c, err
}
