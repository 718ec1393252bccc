package reconcile

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/assayd/assayd/reconcile/control"
	"github.com/assayd/assayd/reconcile/history"
	"github.com/assayd/assayd/reconcile/plan"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/clock"
	"github.com/assayd/assayd/runtime/fault"
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
		more, err := r.trials.Start(ctx, address, a)
		if more {
			r.started++
		}
		return more, err
	case plan.CancelTrial:
		return true, r.trials.Cancel(ctx, a)
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
		p := r.contents.Compiler(tx, r.specs.Set())
		if d, err = p.Newest(run); err != nil {
			return err
		}
		if c, err = p.Begun(run, a.Execution); err != nil {
			return err
		}
		data, err := json.Marshal(history.ExecutionData{Only: a.Only, Line: line, Content: c.Layers, Differs: r.contents.Stale(address)})
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
		if asked := r.rerun[address]; a.Trigger == "rerun" && asked != nil && asked.Name != "" {
			record := &control.Record{Action: control.Rerun, Target: asked.Name, By: asked.By, Via: control.Via(asked.Via)}
			if err := record.Append(tx, placeIn(r, address, a.Execution)); err != nil {
				return err
			}
		}
		_, err = tx.AppendLine(r.specs.Stream(address), r.envelope(address, "run.started", a.Execution), runStarted{d.WantedIn(plan.Execution{Only: a.Only}), a.Trigger, r.contents.Stale(address)})
		return err
	})
	if err != nil {
		return err
	}
	fault.Reached(fault.RunBegun)
	r.desired[address] = d
	r.contents.Put(address, c, nil, nil)
	delete(r.rerun, address)
	r.o.Log.Info("run started", "spec", address, "execution", a.Execution, "cause", a.Cause)
	r.queue.Add(address, r.now())
	return nil
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
