package reconcile

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile/cheatscan"
	"github.com/assayd/assayd/reconcile/miningspec"
	"github.com/assayd/assayd/reconcile/plan"
	"github.com/assayd/assayd/reconcile/request"
	"github.com/assayd/assayd/reconcile/specs"
	"github.com/assayd/assayd/reconcile/store/writequeue"
	"github.com/assayd/assayd/reconcile/troubles"
	"github.com/assayd/assayd/runtime/clock"
	"github.com/assayd/assayd/runtime/trial"
)

// Freed tells the loop that work containers gave room back; for NewAdmission.
func (r *Reconciler) Freed() {
	select {
	case r.freed <- struct{}{}:
	default:
	}
}

// Finished tells that executions have finished since it was last asked.
func (r *Reconciler) Finished() <-chan struct{} { return r.executions.finished }

// idleTurn is how often the loop turns with nothing to do, to prove that it can.
const idleTurn = 10 * time.Second

// Run reconciles until the context ends, then waits for its trials' goroutines to let go;
// containers go on. pulses say that it is time to look at the files again.
func (r *Reconciler) Run(ctx context.Context, pulses <-chan struct{}) error {
	defer close(r.done)
	r.beside.life = ctx
	loop := writequeue.First(ctx) // it never waits for the many trials that write
	begun := r.runs.now()
	r.Heartbeat()
	if err := miningspec.LoadMined(loop, r.o.Store, r.o.Config.Mined); err != nil {
		return err
	}
	if r.o.Idle {
		return r.idle(ctx)
	}
	for _, takeOver := range []func(context.Context) error{r.upgrade.MarkFormer, r.upgrade.Rekey, r.upgrade.FillOpen, r.trials.Restore, r.scans.Load, r.Desk.Load, r.Orders.Load} {
		if err := takeOver(loop); err != nil {
			return err
		}
		r.Heartbeat() // each is as a turn
	}
	defer r.Foreign.Finish(ctx)
	sweeper := sync.WaitGroup{}
	defer sweeper.Wait()
	beside, stop := context.WithCancel(ctx)
	defer stop() // also where the loop fails
	r.specs.StartPacking(beside, &sweeper)
	defer r.beside.group.Wait()
	defer r.publisher.publish() // some of them may wait for it
	r.runs.contents.SetNames(r.images.names(ctx))
	for r.specs.Rescan(loop, nil); r.specs.Set() == nil && ctx.Err() == nil; { // nothing is done before a look has succeeded
		r.wait(loop, pulses)
	}
	if r.specs.Set() == nil {
		return nil
	}
	r.turn(loop)
	for _, run := range declaredIn(r.specs.Set()) {
		if run.Mode == trial.Single { // a crash may have come before its files
			r.Foreign.Stale(run.Address())
		}
	}
	strays, err := r.runs.orphans(loop)
	if err = errors.Join(err, r.Orders.Tell(loop)); err != nil {
		return err
	}
	sweeper.Go(func() { r.Retention.SweepFormer(beside, strays, begun) })
	r.startBeside(beside, &sweeper)
	r.publisher.publish()
	if r.o.Ready != nil {
		r.o.Ready()
	}
	for ctx.Err() == nil {
		r.wait(loop, pulses)
		r.runs.onClockStep()
		r.turn(loop)
		r.o.Turned(time.Since(r.pace.woken))
	}
	return nil
}

// startBeside starts what goes on beside the loop until the context ends.
func (r *Reconciler) startBeside(ctx context.Context, group *sync.WaitGroup) {
	group.Go(func() { r.Retention.RemoveOrphans(ctx) })
	group.Go(func() { r.Retention.BoundKept(ctx) })
	group.Go(func() { r.Foreign.Run(ctx) })
	group.Go(func() { r.upgrade.FillCells(ctx) })
	for range cheatscan.Scanners {
		group.Go(func() { r.scans.Run(ctx) })
	}
	group.Go(func() { r.Summaries.Run(ctx) })
	group.Go(func() { r.Trials.Run(ctx) })
	group.Go(func() { r.images.watch(ctx) })
}

// idle answers questions from what was last accepted until the context ends.
func (r *Reconciler) idle(ctx context.Context) error {
	if err := r.specs.Resume(ctx); err != nil {
		return err
	}
	r.publisher.publish()
	for ctx.Err() == nil {
		select {
		case call := <-r.calls:
			call()
			r.publisher.publish()
		case <-ctx.Done():
		}
	}
	return nil
}

// wait blocks until something may have changed, and takes that in.
func (r *Reconciler) wait(ctx context.Context, pulses <-chan struct{}) {
	r.Heartbeat()
	r.publisher.publish()
	timer := time.NewTimer(r.untilTurn())
	defer timer.Stop()
	r.waits.Store(true)
	defer r.waits.Store(false)
	begins := func() { // there is something to do
		r.Heartbeat()
		r.pace.begin()
		r.waits.Store(false)
	}
	r.pace.started = 0
	select {
	case call := <-r.calls: // whoever asks goes before what is due
		begins()
		call()
		return
	default:
	}
	select {
	case <-ctx.Done():
	case <-pulses:
		begins()
		r.specs.Pulse(ctx)
	case call := <-r.calls:
		begins()
		call()
	case id := <-r.trials.Ended():
		begins()
		r.trials.Release(id)
	case <-r.freed:
		begins()
		r.waitlist.Freed()
	case <-timer.C:
		begins()
		r.specs.Tick(ctx)
	}
}

// untilTurn is how long the loop waits for something to happen.
func (r *Reconciler) untilTurn() time.Duration {
	pause := idleTurn
	if _, due, ok := r.runs.queue.Peek(r.runs.now()); ok && r.specs.Set() != nil {
		pause = min(pause, due)
	}
	for _, next := range []time.Time{r.specs.Next(), r.Desk.Next()} {
		if !next.IsZero() {
			pause = min(pause, max(time.Until(next), 0))
		}
	}
	if r.o.hostBudget() != (config.HostBudget{}) {
		pause = min(pause, budgetsEvery)
	}
	return pause
}

// atOnce is how many runs are read in one transaction: a transaction for each of ten
// thousand takes longer than all that is read.
const atOnce = 256

// turn reconciles every run that is due, and those for which there is room, as far as that does not
// begin too many trials.
func (r *Reconciler) turn(ctx context.Context) {
	if err := r.Desk.Expire(ctx); err != nil {
		r.o.Log.Log(ctx, r.troubles.Level(troubles.Store, err, slog.LevelError), "end a hold", "error", err)
	}
	if err := r.holds.lookAtBudgets(ctx); err != nil && ctx.Err() == nil {
		r.o.Log.Log(ctx, r.troubles.Level(troubles.Store, err, slog.LevelError), "look whether a budget is used up", "error", err)
	}
	for ctx.Err() == nil && !r.pace.enough() {
		r.Heartbeat()
		due := r.runs.queue.PopAll(r.runs.now(), atOnce)
		if len(due) == 0 {
			address, ok := r.waitlist.Offer(r.runs.note)
			if !ok {
				r.drain.end()
				return
			}
			due = []string{address}
		}
		for i, seen := range r.observer.observe(ctx, due) {
			if ctx.Err() != nil {
				return
			}
			if r.pace.enough() {
				r.runs.due(due[i])
				continue
			}
			r.Heartbeat()
			err := r.reconcile(ctx, due[i], seen)
			r.drain.follow(ctx, due[i])
			if err != nil && ctx.Err() == nil {
				r.o.Failed()
				r.o.Log.Log(ctx, r.troubles.Level(due[i], err, slog.LevelWarn), "reconcile", "spec", due[i], "error", err)
				r.runs.queue.Retry(due[i], r.runs.now())
				continue
			}
			r.troubles.Over(due[i])
			r.runs.queue.Forget(due[i])
		}
	}
}

// reconcile makes one pass over one run.
func (r *Reconciler) reconcile(ctx context.Context, address string, seen observation) error {
	r.waitlist.Leave(address, r.runs.now())
	r.runs.shown.show(address)
	if plan.IsMining(address) {
		delete(r.runs.notes, address)
		return r.minings.reconcile(ctx, address)
	}
	if seen.err == nil && seen.Run != r.runs.desired[address] { // it was edited since it was looked at
		seen = r.observer.observe(ctx, []string{address})[0]
	}
	if seen.err != nil {
		return seen.err
	}
	observed, now := seen.Observed, clock.Now().UTC()
	if d := r.runs.desired[address]; d != nil {
		r.waitlist.Rank(address, d.Priority)
	}
	if d, e := r.runs.desired[address], observed.Execution; d != nil && e != nil && r.o.Host.Gateway != nil {
		r.o.Host.Gateway.SetTotal(address, e.N, d.Total)
	}
	todo := seen.Diff(address, r.drain.limited(r.runs.desired[address], observed), now)
	if text := todo.String(); text != "" {
		r.o.Log.Debug("plan", "spec", address, "plan", text)
	}
	if r.drain.on && todo.Has(plan.Begin) {
		return nil // the next daemon begins it
	}
	if !todo.Wake.IsZero() {
		r.runs.queue.Add(address, r.runs.now().Add(todo.Wake.Sub(now)))
	}
	delete(r.runs.notes, address)
	if observed.Execution != nil && observed.Execution.Finished && len(todo.Actions) == 0 {
		r.runs.cells.Drop(address)
		if seen.Idle() && !r.drain.on {
			if err := r.executions.stayOver(ctx, address, *observed.Execution); err != nil {
				return err
			}
		}
	}
	err := todo.CarryOut(func(a plan.Action) (more bool, err error) {
		if a.Kind == plan.StartTrial && r.pace.enough() { // also one that only goes on: a thousand do after a crash
			r.runs.due(address) // what is left of the plan is made again
			return false, nil
		}
		return r.executions.execute(ctx, address, a)
	})
	return errors.Join(err, r.runs.cells.NoteBegun(ctx, r.o.Store, address))
}

// do runs f in the loop's goroutine, and returns when the latest snapshot has what f did. A question that
// snapshot can answer must not use it.
func (r *Reconciler) do(ctx context.Context, f func()) error {
	finished := make(chan struct{})
	select {
	case r.calls <- func() { f(); r.runs.shown.waiting = append(r.runs.shown.waiting, finished) }:
		<-finished
		return nil
	case <-r.done:
		return request.ErrStopped
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Look has the files read again; fresh also has contexts copied anew whose spec's text is
// unchanged.
func (r *Reconciler) Look(ctx context.Context, fresh bool) error {
	which := specs.All
	if !fresh {
		which = nil
	}
	return r.do(ctx, func() { r.specs.Rescan(ctx, which) })
}

// declaredIn are the runs of the set in force; none before a look has succeeded.
func declaredIn(set *config.Set) []config.Run {
	if set == nil {
		return nil
	}
	return set.Blocks.Runs
}
