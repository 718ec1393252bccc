package reconcile

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/assayd/assayd/reconcile/history"
	"github.com/assayd/assayd/reconcile/ledger"
	"github.com/assayd/assayd/reconcile/plan"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/trial"
)

// ErrNothing says that there is nothing to cancel.
var ErrNothing = errors.New("nothing of it runs")

// Why nothing is begun or changed.
var (
	ErrIdle     = errors.New("no daemon runs on this state directory")
	ErrBlind    = errors.New("the daemon does nothing before it has looked at the specs, which fails")
	ErrDraining = errors.New("the daemon is stopping: it finishes what runs and begins nothing")
)

// Conflict is an error of a request that the present state does not allow: another state may.
type Conflict struct{ error }

// Unwrap gives the cause.
func (c *Conflict) Unwrap() error { return c.error }

func conflict(format string, args ...any) error { return &Conflict{fmt.Errorf(format, args...)} }

// Rerun makes a new execution of a run, or of one trial's cell, with content as it is now, and
// tells how that differs from the latest execution's; nil = it does not.
func (r *Reconciler) Rerun(ctx context.Context, name string) (differs *plan.Stale, err error) {
	if plan.IsMining(name) {
		return nil, r.ask(ctx, func() error { return r.rerunMining(ctx, name) })
	}
	var address string
	if err := r.ask(ctx, func() (err error) { address, _, err = r.resolve(ctx, name); return err }); err != nil {
		return nil, err
	}
	r.fetchOf(ctx, address) // what lies elsewhere is as it is now, too
	if err := r.prepackRun(ctx, address); err != nil {
		return nil, err
	}
	r.lookAtImages(ctx)
	err = r.ask(ctx, func() error {
		address, cell, err := r.resolve(ctx, name)
		if err != nil {
			return err
		}
		o, err := r.observeOne(ctx, address)
		if err != nil {
			return err
		}
		if r.desired[address] == nil {
			return conflict("rerun %s: no file declares it", address)
		}
		if o.Execution != nil && !o.Execution.Finished {
			return conflict("rerun %s: execution e%d still runs; cancel it or wait for its end", address, o.Execution.N)
		}
		r.rescan(ctx, r.filesOfRun(address)) // with content as it is now, for this run alone
		asked := &plan.Rerun{}
		if cell != "" {
			s, err := r.stateOfTrial(ctx, name)
			if err != nil {
				return err
			}
			if asked.Only = r.sameSlot(address, s); asked.Only == nil {
				return conflict("rerun %s: %s no longer has this cell; rerun the whole run", name, address)
			}
		}
		differs = r.contents.stale[address]
		r.rerun[address] = asked
		r.queue.add(address, r.now())
		return r.reconcile(ctx, address, r.observe(ctx, []string{address})[0]) // stored before it is answered: what is only asked for ends with the daemon
	})
	return differs, err
}

// sameSlot is the key of the cell that a run has now where a trial's was; nil = there is none.
func (r *Reconciler) sameSlot(address string, s trial.State) (only []string) {
	now := r.contents.newest[address]
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

// Cancel ends a run's present execution, or one trial. It returns ErrNothing when the run
// has no execution or the last one is over.
func (r *Reconciler) Cancel(ctx context.Context, name string) error {
	return r.change(ctx, func() error {
		if plan.IsMining(name) {
			return r.cancelMining(ctx, name)
		}
		address, cell, err := r.resolve(ctx, name)
		if err != nil {
			return err
		}
		if cell != "" {
			if err := r.mayCancel(ctx, name); err != nil {
				return err
			}
			return r.cancelTrial(ctx, plan.Action{Kind: plan.CancelTrial, Trial: name, Cause: "cancelled by a user"})
		}
		if r.rerun[address] != nil { // it has not begun yet
			delete(r.rerun, address)
			r.shown.show(address)
			return nil
		}
		r.queue.add(address, r.now())
		return r.o.Store.Do(ctx, func(tx *store.Tx) error {
			e, err := tx.LatestExecution(address)
			switch {
			case errors.Is(err, store.ErrNotFound):
				return fmt.Errorf("cancel %s: %w", address, ErrNothing)
			case err != nil:
				return err
			case !e.FinishedAt.IsZero():
				return fmt.Errorf("cancel %s: %w: execution e%d is over", address, ErrNothing, e.N)
			}
			var d history.ExecutionData
			if err := json.Unmarshal(e.Data, &d); err != nil {
				return err
			}
			d.Cancelled = true
			if e.Data, err = json.Marshal(d); err != nil {
				return err
			}
			return tx.PutExecution(e)
		})
	})
}

// ask is change for what has something begin.
func (r *Reconciler) ask(ctx context.Context, f func() error) error {
	return r.change(ctx, func() error {
		if r.draining != nil {
			return ErrDraining
		}
		return f()
	})
}

// change is command for what does not only answer.
func (r *Reconciler) change(ctx context.Context, f func() error) error {
	if r.o.Idle {
		return ErrIdle
	}
	return r.command(ctx, func() error {
		if r.set == nil {
			return fmt.Errorf("%w: %s", ErrBlind, r.blind)
		}
		return f()
	})
}

func (r *Reconciler) command(ctx context.Context, f func() error) (err error) {
	var inner error
	err = r.do(ctx, func() { inner = f() })
	return errors.Join(err, inner)
}

// resolve finds the run that a name means, and the cell when it is a trial's; for the loop.
func (r *Reconciler) resolve(ctx context.Context, name string) (address, cell string, err error) {
	if _, is := r.runView(name); is && !plan.IsMining(name) {
		return name, "", nil
	}
	return r.runNamed(ctx, r.shown.latest.Load(), name)
}

// runNamed finds the run that a name means, and the cell when it is a trial's.
func (r *Reconciler) runNamed(ctx context.Context, now *snapshot, name string) (address, cell string, err error) {
	if now.knows(name) {
		return name, "", nil
	}
	err = r.o.Store.View(ctx, func(tx *store.Tx) error {
		row, err := tx.Trial(name)
		if errors.Is(err, store.ErrNotFound) {
			return fmt.Errorf("%w: %s%s", history.ErrUnknown, name, suggest(name, now.addresses()))
		}
		address, cell = row.Spec, row.Cell
		return err
	})
	return address, cell, err
}

// Lines is a page of a run's result lines from seq on, at most limit, for followers.
func (r *Reconciler) Lines(ctx context.Context, address string, seq, limit int) (lines []store.Line, err error) {
	recorded := false
	err = r.o.Store.View(ctx, func(tx *store.Tx) error {
		stream, err := tx.Stream(address)
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		recorded = true
		lines, err = tx.LinesFrom(stream.ID, seq, limit)
		return err
	})
	if err != nil || recorded {
		return lines, err
	}
	now, err := r.snapshot(ctx)
	if err != nil || now.run(address).desired != nil || now.mines(address) { // it may have no records yet
		return nil, err
	}
	return nil, fmt.Errorf("%w: %s%s", history.ErrUnknown, address, suggest(address, now.addresses()))
}

// Output is what the judge command wrote in a round of a trial, or of a session without
// one; the caller closes it.
func (r *Reconciler) Output(ctx context.Context, id, roundName string) (io.ReadCloser, error) {
	var all []round.Submission
	err := r.o.Store.View(ctx, func(tx *store.Tx) (err error) {
		all, err = ledger.OfTrial(tx, id)
		return err
	})
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		if _, err := r.stateOfTrial(ctx, id); err != nil {
			return nil, err
		}
	}
	var rounds []string
	for _, x := range all {
		rounds = append(rounds, x.Round)
		if x.Round != roundName {
			continue
		}
		if x.Report == nil || x.Report.Output == "" {
			return nil, conflict("%s of %s has no output: no judge command has ended in it", roundName, id)
		}
		return r.o.Host.OpenBlob(x.Report.Output)
	}
	if len(rounds) == 0 {
		return nil, history.Unknown("%s has no round; to see why: assayd submissions %s", id, id)
	}
	return nil, history.Unknown("%s has no round %q; its rounds are %s", id, roundName, strings.Join(rounds, ", "))
}

// OpenLog reads the log of a trial's try from offset on (trial.OpenLog); try 0 is the last one.
// Over says that the try prints nothing more. While there is no log it is an error that is
// os.ErrNotExist.
func (r *Reconciler) OpenLog(ctx context.Context, id string, try int, offset int64) (log io.ReadCloser, end int64, over bool, err error) {
	err = r.o.Store.View(ctx, func(tx *store.Tx) error {
		row, err := tx.Trial(id)
		if errors.Is(err, store.ErrNotFound) {
			return history.UnknownTrial(tx, id)
		}
		if err != nil {
			return err
		}
		if try == 0 {
			try = row.Try
		}
		over = row.Status != "" || try < row.Try
		return nil
	})
	if err != nil {
		return nil, offset, false, err
	}
	log, end, err = trial.OpenLog(trial.LogFile(r.o.Host.StateDir, id, try), offset)
	return log, end, over, err
}
