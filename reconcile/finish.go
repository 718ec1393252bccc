package reconcile

import (
	"context"
	"fmt"

	"github.com/assayd/assayd/reconcile/history"
	"github.com/assayd/assayd/reconcile/plan"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/reconcile/summary"
	"github.com/assayd/assayd/runtime/clock"
	"github.com/assayd/assayd/runtime/fault"
)

type runFinished struct {
	Trials int    `json:"trials"`
	Cause  string `json:"cause,omitempty"`
	summary.Summary
}

// finish reports with its summary that an execution has no open cell, and its end if it is one. Before
// that all its trials are looked through for signs of cheating, so that who reads up to the end has all
// flags; each is within minutes. The summary of thousands of trials takes seconds, so it is made beside the loop: until it is there,
// finish reports that nothing more can be done.
func (x *executions) finish(ctx context.Context, address string, a plan.Action) (more bool, err error) {
	if n := x.scans.Waiting(address); n > 0 {
		x.runs.note(address, fmt.Sprintf("the agents' work is looked through for signs of cheating before the end is recorded; trials to go: %d", n))
		return false, nil
	}
	s := x.summaries.of(address, a.Execution)
	if s == nil {
		return false, nil
	}
	if err := x.putFinish(ctx, address, a, runFinished{Trials: s.trials, Cause: a.Cause, Summary: *s.summary}); err != nil {
		return false, err
	}
	x.summaries.drop(address)
	if a.Kind == plan.Finish {
		x.runs.cells.Drop(address) // there is nothing to follow
		fault.Reached(fault.RunFinished)
		x.log.Info("run finished", "spec", address, "execution", a.Execution)
		select {
		case x.finished <- struct{}{}:
		default:
		}
	}
	return true, nil
}

// putFinish stores that an execution has no open cell, or is over, with the records that say so.
func (x *executions) putFinish(ctx context.Context, address string, a plan.Action, record runFinished) error {
	now := clock.Now().UTC()
	return x.store.Do(ctx, func(tx *store.Tx) error {
		e, err := tx.LatestExecution(address)
		if err != nil {
			return err
		}
		types := []string{"run.settled", "run.finished"}
		if !e.SettledAt.IsZero() { // which was said already
			types = types[1:]
		} else if a.Kind == plan.Settle {
			types = types[:1]
		}
		for _, typ := range types {
			if _, err := tx.AppendLine(x.runs.specs.Stream(address), x.runs.envelope(address, typ, e.N), record); err != nil {
				return err
			}
		}
		e.SettledAt = now
		if a.Kind == plan.Finish {
			e.FinishedAt = now
			if err := history.EndFor(&e, x.runs.desired[address]); err != nil {
				return err
			}
		}
		return tx.PutExecution(e)
	})
}

// stayOver notes that an execution that is over is so for what its run wants now, too: an edit can have
// changed it in what asks for nothing, and earlier versions noted it in other words.
func (x *executions) stayOver(ctx context.Context, address string, e plan.Execution) error {
	d := x.runs.desired[address]
	if d == nil || e.Over(d) {
		return nil
	}
	return x.store.Do(ctx, func(tx *store.Tx) error {
		row, err := tx.LatestExecution(address)
		if err != nil {
			return err
		}
		if err := history.EndFor(&row, d); err != nil {
			return err
		}
		return tx.PutExecution(row)
	})
}
