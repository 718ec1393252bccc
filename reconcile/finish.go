package reconcile

import (
	"context"
	"fmt"

	"github.com/assayd/assayd/reconcile/history"
	"github.com/assayd/assayd/reconcile/plan"
	"github.com/assayd/assayd/reconcile/query/summaries"
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

// summing is a summary that a goroutine makes of an execution of which no cell is open.
type summing struct {
	execution int
	changes   int // of its trials that are in it (Reconciler.changes)
	trials    int
	summary   *summary.Summary // nil = it is not made yet
}

// finish reports with its summary that an execution has no open cell, and its end if it is one. Before
// that all its trials are looked through for signs of cheating, so that who reads up to the end has all
// flags; each is within minutes. The summary of thousands of trials takes seconds, so it is made beside the loop: until it is there,
// finish reports that nothing more can be done.
func (r *Reconciler) finish(ctx context.Context, address string, a plan.Action) (more bool, err error) {
	if n := r.scans.Waiting(address); n > 0 {
		r.note(address, fmt.Sprintf("the agents' work is looked through for signs of cheating before the end is recorded; trials to go: %d", n))
		return false, nil
	}
	s := r.sums[address]
	if s == nil || s.execution != a.Execution || s.changes != r.changes[address] {
		r.sum(address, a.Execution)
		return false, nil
	}
	if s.summary == nil {
		return false, nil
	}
	if err := r.putFinish(ctx, address, a, runFinished{Trials: s.trials, Cause: a.Cause, Summary: *s.summary}); err != nil {
		return false, err
	}
	delete(r.sums, address)
	if a.Kind == plan.Finish {
		delete(r.cells, address) // there is nothing to follow
		fault.Reached(fault.RunFinished)
		r.o.Log.Info("run finished", "spec", address, "execution", a.Execution)
		select {
		case r.finished <- struct{}{}:
		default:
		}
	}
	return true, nil
}

// sum starts the goroutine that makes the summary of an execution. It ends when the loop has it, or
// with the loop.
func (r *Reconciler) sum(address string, n int) {
	s := &summing{execution: n, changes: r.changes[address]}
	r.sums[address] = s
	ctx := r.life
	r.drivers.Go(func() {
		made, trials, err := r.Summaries.Summary(ctx, summaries.Execution{Address: address, N: n})
		_ = r.do(ctx, func() { // fails where the loop has ended: the next daemon makes it
			switch {
			case r.sums[address] != s: // something has changed since
			case err != nil:
				r.o.Log.Warn("sum up", "spec", address, "execution", n, "error", err)
				delete(r.sums, address)
				r.queue.retry(address, r.now())
				return
			default:
				s.trials, s.summary = trials, &made
			}
			r.queue.add(address, r.now())
		})
	})
}

// putFinish stores that an execution has no open cell, or is over, with the records that say so.
func (r *Reconciler) putFinish(ctx context.Context, address string, a plan.Action, record runFinished) error {
	now := clock.Now().UTC()
	return r.o.Store.Do(ctx, func(tx *store.Tx) error {
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
			if _, err := tx.AppendLine(r.stream(address), r.envelope(address, typ, e.N), record); err != nil {
				return err
			}
		}
		e.SettledAt = now
		if a.Kind == plan.Finish {
			e.FinishedAt = now
			if err := history.EndFor(&e, r.desired[address]); err != nil {
				return err
			}
		}
		return tx.PutExecution(e)
	})
}

// stayOver notes that an execution that is over is so for what its run wants now, too: an edit can have
// changed it in what asks for nothing, and earlier versions noted it in other words.
func (r *Reconciler) stayOver(ctx context.Context, address string, e plan.Execution) error {
	d := r.desired[address]
	if d == nil || e.Over(d) {
		return nil
	}
	return r.o.Store.Do(ctx, func(tx *store.Tx) error {
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
