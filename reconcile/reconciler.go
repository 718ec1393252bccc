package reconcile

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile/admission"
	"github.com/assayd/assayd/reconcile/cheatscan"
	"github.com/assayd/assayd/reconcile/control"
	"github.com/assayd/assayd/reconcile/evaluate"
	"github.com/assayd/assayd/reconcile/foreign"
	"github.com/assayd/assayd/reconcile/ledger"
	"github.com/assayd/assayd/reconcile/miningspec"
	"github.com/assayd/assayd/reconcile/pinned"
	"github.com/assayd/assayd/reconcile/plan"
	"github.com/assayd/assayd/reconcile/query"
	"github.com/assayd/assayd/reconcile/query/snapshot"
	"github.com/assayd/assayd/reconcile/query/summaries"
	"github.com/assayd/assayd/reconcile/query/trialview"
	"github.com/assayd/assayd/reconcile/request"
	"github.com/assayd/assayd/reconcile/retention"
	"github.com/assayd/assayd/reconcile/specfiles"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/reconcile/store/change"
	"github.com/assayd/assayd/reconcile/store/writequeue"
	"github.com/assayd/assayd/reconcile/taskcheck"
	"github.com/assayd/assayd/runtime/clock"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/mining"
	"github.com/assayd/assayd/runtime/trial"
)

// Options are what a Reconciler is made of.
type Options struct {
	Store      *store.Store
	Ledger     *ledger.Submissions
	Host       trial.Host
	Admission  *admission.Controller
	Daemon     string         // id of this process, which its containers bear
	Config     config.Options // how specs are compiled
	Roots      []string       // watched directories, absolute
	ResultsDir string         // "" = beside the specs
	Checkout   *Checkout      // the one of Roots that is of a repository; nil = none is
	Log        *slog.Logger
	Datasets   query.Datasets
	// Mining makes what a miner of a spec reaches the outside by; the rest is added here.
	Mining func(spec config.Mining) (mining.Options, error)
	Ready  func() // called once, after the first complete pass
	// TraceID is the id of a try's trace, for the log; nil = there are no traces.
	TraceID func(trial string, try int) string
	// Drained ends the process when nothing works any more, as a user asks; nil = it stays.
	Drained func()
	Observer
	Idle bool // answer questions about what was accepted and done, do nothing
}

// Observer is told how the work goes, by many goroutines. Its functions must not block; nil tells nobody.
type Observer struct {
	Turned func(took time.Duration)                    // the loop has made a turn
	Failed func()                                      // a pass over a spec has failed, and is made again
	Staged func(stage trial.Phase, took time.Duration) // a trial has left a phase that it was in for so long
}

// Reconciler makes the world match the specs. Its parts answer questions, have archives judged, and check
// tasks, each safe for any goroutine. All fields below o belong to the goroutine of Run; other goroutines
// reach them through do.
type Reconciler struct {
	*query.Reader
	Trials    *trialview.Trials    // safe for any goroutine
	Summaries *summaries.Summaries // safe for any goroutine
	*evaluate.Evaluator
	*taskcheck.Checker
	Foreign   *foreign.Reports     // safe for any goroutine
	Retention *retention.Collector // safe for any goroutine
	Desk      *control.Desk        // safe for any goroutine, but for what it says
	Orders    *control.Orders      // as Desk
	Notes     *control.Notes       // safe for any goroutine
	o         Options
	calls     chan func()
	ended     chan string // ids of trials whose goroutine has ended
	freed     chan struct{}
	finished  chan struct{}
	line      clock.Timeline // of now; begun with the reconciler
	born      time.Time
	progress  atomic.Int64 // the loop's last turn, in nanoseconds since born
	waits     atomic.Bool  // the loop has nothing to do
	done      chan struct{}
	inForce   atomic.Pointer[config.Set] // the set in force, for other goroutines
	shown     unpublished

	life      context.Context    // of Run: a trial outlives the request that made it go on
	troubles  troubles           // safe for any goroutine
	scans     *cheatscan.Scanner // safe for any goroutine
	copies    *specfiles.Copies  // safe for any goroutine; nil = folders are named, not copied
	images    *pinned.Images     // safe for any goroutine
	filling   filling            // set before Run
	queue     *queue
	step      time.Duration // by which the wall clock is ahead of line
	deletions specfiles.DeletionGuard
	debounce  specfiles.Debounce
	again     time.Time // when to look at the files by itself; zero = not
	set       *config.Set
	roots     roots // of the set's files
	desired   map[string]*plan.Run
	gone      map[string]time.Time // since when a block with history is missed
	live      map[string]*liveTrial
	cells     map[string]*plan.CellIndex // of the latest executions that are open, by address
	changed   map[string]map[string]bool // trials that are not in their index as they are now, by address and id
	changes   map[string]int             // how often trials of a run have changed, by address
	sums      map[string]*summing        // by address
	rerun     map[string]*plan.Rerun
	contents  contents
	stirred   stirred
	waitlist  *admission.Waitlist
	previous  config.Previous     // what was last accepted; nil until it is read
	seen      [32]byte            // fingerprint of the files that the set was made of
	scanned   specfiles.ScanCache // for how long they need not be read again
	blind     string              // why the last look at the files failed
	trouble   []string            // places that could not be looked at, as last logged
	notes     map[string]string   // what a run waits for, for the status
	started   int                 // trials in this turn
	woken     time.Time           // when this turn began
	tired     time.Time           // when to begin no more of them in it
	minings   *miningspec.Minings
	draining  *drain   // no execution begins any more; nil = some may
	answered  []string // files whose complaints go to who hands them in, not to the log
	drivers   sync.WaitGroup
}

// New returns a reconciler; Run does the work.
func New(o Options) *Reconciler {
	r := &Reconciler{
		o: o, line: clock.Begin(), born: time.Now(), calls: make(chan func()), ended: make(chan string), shown: unpublished{changed: map[string]bool{}, all: true}, freed: make(chan struct{}, 1), finished: make(chan struct{}, 1), done: make(chan struct{}),
		queue: newQueue(), deletions: specfiles.NewDeletionGuard(o.Log), debounce: specfiles.Debounce{}, desired: map[string]*plan.Run{}, gone: map[string]time.Time{},
		live: map[string]*liveTrial{}, cells: map[string]*plan.CellIndex{}, changed: map[string]map[string]bool{}, changes: map[string]int{}, sums: map[string]*summing{}, rerun: map[string]*plan.Rerun{}, contents: newContents(), stirred: newStirred(), waitlist: admission.NewWaitlist(o.Admission), notes: map[string]string{},
	}
	if r.o.Config.Mined == nil {
		r.o.Config.Mined = config.NewMined()
	}
	r.minings = r.newMinings()
	r.o.Observer = r.o.Observer.whole()
	r.scans = cheatscan.New(cheatscan.Options{
		Store: o.Store, Log: o.Log,
		Scan: func(ctx context.Context, s trial.State, rounds []round.Submission) ([]string, []trial.Effect) {
			return r.o.Host.Scan(ctx, s, rounds)
		},
		Failed: func(ctx context.Context, spec, id string, err error) {
			o.Log.Log(ctx, r.troubles.level(withStore, err, slog.LevelError), "look through what an agent did", "spec", spec, "trial", id, "error", err)
		},
		Over: func(ctx context.Context, spec string) {
			_ = r.do(ctx, func() { r.queue.add(spec, r.now()) }) // it may be over; fails where the loop has ended
		},
	})
	snapshots := snapshot.NewLatest(r.done)
	r.Summaries = summaries.New(summaries.Options{Store: o.Store, Snapshots: snapshots, Idle: o.Idle, Log: o.Log})
	r.Reader = query.New(query.Options{
		Store: o.Store, Snapshots: snapshots, Summaries: r.Summaries, OpenBlob: o.Host.OpenBlob, Config: r.o.Config, Git: o.Checkout.status(), Datasets: o.Datasets, Log: o.Log,
		Idle: o.Idle, Host: r.hostState(),
	})
	r.Trials = trialview.New(trialview.Options{Store: o.Store, StateDir: o.Host.StateDir, OpenBlob: o.Host.OpenBlob})
	r.Evaluator = evaluate.New(evaluate.Options{
		Store: o.Store, Ledger: o.Ledger, Host: &r.o.Host, Reader: r.Reader, Admission: o.Admission, Config: r.o.Config, Accepted: r.accepted, Hold: r.holdCheckout, Commit: r.commitOf,
		Solution: r.solution, Go: r.goBeside, Log: o.Log,
	})
	r.Checker = taskcheck.New(taskcheck.Options{Host: &r.o.Host, Reader: r.Reader, Evaluator: r.Evaluator, Config: r.o.Config, Record: r.recordCheck})
	r.Desk, r.Orders, r.Notes = newDesk(r), newOrders(r), newNotes(r)
	r.Foreign = foreign.New(foreign.Options{Store: o.Store, Ledger: o.Ledger, Snapshots: snapshots, StateDir: o.Host.StateDir, Log: o.Log})
	r.Retention = retention.New(retention.Options{
		Store: o.Store, Host: &r.o.Host, Snapshots: snapshots, Needed: r.scans.Needed, Log: o.Log,
		Before: func(age time.Duration) time.Time { return r.stamped(r.now().Add(-age)) },
	})
	h := &r.o.Host
	h.Reference, h.Sane, h.Broken, h.Decoys, h.Foresee, h.Control = r.Reference, r.Sane, r.Broken, r.Decoys, r.Foresee, r.Control
	if o.Config.Snapshot != nil {
		r.copies = specfiles.NewCopies(o.Config.Snapshot, r.copied)
	}
	r.filling.atOnce = atOnceFilled
	r.o.Host.Where = r.where
	r.images = pinned.NewImages(o.Store)
	r.o.Host.Pin = r.images.Image
	r.o.Host.Logged = func(trial string) { o.Store.Announce(trial, change.Log) }
	if o.Admission != nil {
		r.o.Host.Scarce = o.Admission.Scarce
	}
	return r
}

// whole is the observer with a function in each place.
func (o Observer) whole() Observer {
	if o.Turned == nil {
		o.Turned = func(time.Duration) {}
	}
	if o.Failed == nil {
		o.Failed = func() {}
	}
	if o.Staged == nil {
		o.Staged = func(trial.Phase, time.Duration) {}
	}
	return o
}

// Freed tells the loop that work containers gave room back; for NewAdmission.
func (r *Reconciler) Freed() {
	select {
	case r.freed <- struct{}{}:
	default:
	}
}

// Finished tells that executions have finished since it was last asked.
func (r *Reconciler) Finished() <-chan struct{} { return r.finished }

// Progress is how long ago the loop last completed a turn; it turns at least every ten
// seconds when nothing happens.
func (r *Reconciler) Progress() time.Duration {
	return time.Since(r.born) - time.Duration(r.progress.Load())
}

// Age is for how long the loop has been at its present turn, and has answered nobody else; 0 while
// it waits for something to do.
func (r *Reconciler) Age() time.Duration {
	if r.waits.Load() {
		return 0
	}
	return r.Progress()
}

// hostState is what health is told of the daemon; nil where none runs.
func (r *Reconciler) hostState() func() query.HostState {
	if r.o.Idle {
		return nil
	}
	return func() query.HostState {
		s := query.HostState{LoopAge: r.Age(), Free: -1}
		if r.o.Admission != nil {
			s.Free = r.o.Admission.Load().DiskLeft
		}
		return s
	}
}

// Heartbeat says that the loop is at work on something long, such as copying a context.
func (r *Reconciler) Heartbeat() { r.progress.Store(int64(time.Since(r.born))) }

// declared are the runs of the set in force; none before a look has succeeded.
func (r *Reconciler) declared() []config.Run {
	if r.set == nil {
		return nil
	}
	return r.set.Blocks.Runs
}

// idleTurn is how often the loop turns with nothing to do, to prove that it can.
const idleTurn = 10 * time.Second

// Run reconciles until the context ends, then waits for its trials' goroutines to let go;
// containers go on. pulses say that it is time to look at the files again.
func (r *Reconciler) Run(ctx context.Context, pulses <-chan struct{}) error {
	defer close(r.done)
	r.life = ctx
	loop := writequeue.First(ctx) // it never waits for the many trials that write
	begun := r.now()
	r.Heartbeat()
	if err := miningspec.LoadMined(loop, r.o.Store, r.o.Config.Mined); err != nil {
		return err
	}
	if r.o.Idle {
		return r.idle(ctx)
	}
	for _, takeOver := range []func(context.Context) error{r.markFormer, rekey(r), r.fillOpen, r.restore, r.scans.Load, r.Desk.Load, r.Orders.Load} {
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
	r.startPacking(beside, &sweeper)
	defer r.drivers.Wait()
	defer r.publish() // some of them may wait for it
	r.contents.names = r.imageNames(ctx)
	for r.rescan(loop, nil); r.set == nil && ctx.Err() == nil; { // nothing is done before a look has succeeded
		r.wait(loop, pulses)
	}
	if r.set == nil {
		return nil
	}
	r.turn(loop)
	for _, run := range r.declared() {
		if run.Mode == trial.Single { // a crash may have come before its files
			r.Foreign.Stale(run.Address())
		}
	}
	strays, err := r.orphans(loop)
	if err = errors.Join(err, r.Orders.Tell(loop)); err != nil {
		return err
	}
	sweeper.Go(func() { r.sweep(beside, strays, begun) })
	r.startBeside(beside, &sweeper)
	r.publish()
	if r.o.Ready != nil {
		r.o.Ready()
	}
	for ctx.Err() == nil {
		r.wait(loop, pulses)
		r.onClockStep()
		r.turn(loop)
		r.o.Turned(time.Since(r.woken))
	}
	return nil
}

// startBeside starts what goes on beside the loop until the context ends.
func (r *Reconciler) startBeside(ctx context.Context, group *sync.WaitGroup) {
	group.Go(func() { r.Retention.RemoveOrphans(ctx) })
	group.Go(func() { r.Retention.BoundKept(ctx) })
	group.Go(func() { r.Foreign.Run(ctx) })
	group.Go(func() { r.fillCells(ctx) })
	for range cheatscan.Scanners {
		group.Go(func() { r.scans.Run(ctx) })
	}
	group.Go(func() { r.Summaries.Run(ctx) })
	group.Go(func() { r.Trials.Run(ctx) })
	group.Go(func() { r.watchImages(ctx) })
}

// idle answers questions from what was last accepted until the context ends.
func (r *Reconciler) idle(ctx context.Context) error {
	previous, err := r.accepted(ctx)
	if err != nil {
		return err
	}
	if err := r.adopt(ctx, asAccepted(previous, r.o.Config), previous, nil); err != nil {
		return err
	}
	r.set.Diagnostics = nil // they would say no more than that nobody looks at the files
	r.publish()
	for ctx.Err() == nil {
		select {
		case call := <-r.calls:
			call()
			r.publish()
		case <-ctx.Done():
		}
	}
	return nil
}

// wait blocks until something may have changed, and takes that in.
func (r *Reconciler) wait(ctx context.Context, pulses <-chan struct{}) {
	r.Heartbeat()
	r.publish()
	timer := time.NewTimer(untilTurn(r))
	defer timer.Stop()
	r.waits.Store(true)
	defer r.waits.Store(false)
	r.started = 0
	select {
	case call := <-r.calls: // whoever asks goes before what is due
		r.begins()
		call()
		return
	default:
	}
	select {
	case <-ctx.Done():
	case <-pulses:
		r.begins()
		if !r.scanned.Lasts(time.Now()) {
			r.rescan(ctx, nil)
		}
		if now := time.Now(); !now.Before(r.stirred.next) {
			r.lookAtContent(ctx)
		} else if r.stirred.next.Before(r.stirred.due) {
			r.stirred.due = r.stirred.next
		}
	case call := <-r.calls:
		r.begins()
		call()
	case id := <-r.ended:
		r.begins()
		r.forgetLive(id)
	case <-r.freed:
		r.begins()
		r.waitlist.Freed()
	case <-timer.C:
		r.begins()
		if !r.again.IsZero() && !time.Now().Before(r.again) {
			r.rescan(ctx, nil)
		}
		if !time.Now().Before(r.stirred.due) {
			r.lookAtContent(ctx)
		}
	}
}

// untilTurn is how long the loop waits for something to happen.
func untilTurn(r *Reconciler) time.Duration {
	pause := idleTurn
	if _, due, ok := r.queue.peek(r.now()); ok && r.set != nil {
		pause = min(pause, due)
	}
	if !r.again.IsZero() {
		pause = min(pause, max(time.Until(r.again), 0))
	}
	if r.set != nil {
		pause = min(pause, max(time.Until(r.stirred.due), 0))
	}
	if next := r.Desk.Next(); !next.IsZero() {
		pause = min(pause, max(time.Until(next), 0))
	}
	if r.o.hostBudget() != (config.HostBudget{}) {
		pause = min(pause, budgetsEvery)
	}
	return pause
}

// begins says that the loop has something to do.
func (r *Reconciler) begins() {
	r.Heartbeat()
	r.woken = time.Now()
	r.tired = r.woken.Add(startsWithin)
	r.waits.Store(false)
}

// atOnce is how many runs are read in one transaction: a transaction for each of ten
// thousand takes longer than all that is read.
const atOnce = 256

// startsAtOnce is how many trials begin in a turn, and startsWithin for how long: whoever asks the loop
// waits for all of them, and each waits for the trials that write to the store.
const (
	startsAtOnce = 16
	startsWithin = 100 * time.Millisecond
)

// begunEnough reports whether the trials that have not begun yet do so in another turn.
func (r *Reconciler) begunEnough() bool {
	return r.started >= startsAtOnce || r.started > 0 && time.Now().After(r.tired)
}

// turn reconciles every run that is due, and those for which there is room, as far as that does not
// begin too many trials.
func (r *Reconciler) turn(ctx context.Context) {
	if err := r.Desk.Expire(ctx); err != nil {
		r.o.Log.Log(ctx, r.troubles.level(withStore, err, slog.LevelError), "end a hold", "error", err)
	}
	if err := lookAtBudgets(ctx, r); err != nil && ctx.Err() == nil {
		r.o.Log.Log(ctx, r.troubles.level(withStore, err, slog.LevelError), "look whether a budget is used up", "error", err)
	}
	for ctx.Err() == nil && !r.begunEnough() {
		r.Heartbeat()
		due := r.due()
		if len(due) == 0 {
			address, ok := r.waitlist.Offer(r.note)
			if !ok {
				r.endDrain()
				return
			}
			due = []string{address}
		}
		for i, seen := range r.observe(ctx, due) {
			if ctx.Err() != nil {
				return
			}
			if r.begunEnough() {
				r.queue.add(due[i], r.now())
				continue
			}
			r.Heartbeat()
			err := r.reconcile(ctx, due[i], seen)
			r.follow(ctx, due[i])
			if err != nil && ctx.Err() == nil {
				r.o.Failed()
				r.o.Log.Log(ctx, r.troubles.level(due[i], err, slog.LevelWarn), "reconcile", "spec", due[i], "error", err)
				r.queue.retry(due[i], r.now())
				continue
			}
			r.troubles.over(due[i])
			r.queue.forget(due[i])
		}
	}
}

// due takes the runs out of the queue that are to be looked at now, some at once.
func (r *Reconciler) due() (addresses []string) {
	now := r.now()
	for len(addresses) < atOnce {
		address, ok := r.queue.pop(now)
		if !ok {
			break
		}
		addresses = append(addresses, address)
	}
	return addresses
}

// reconcile makes one pass over one run.
func (r *Reconciler) reconcile(ctx context.Context, address string, seen observation) error {
	r.waitlist.Leave(address, r.now())
	r.shown.show(address)
	if plan.IsMining(address) {
		delete(r.notes, address)
		return r.reconcileMining(ctx, address)
	}
	if seen.err == nil && seen.Run != r.desired[address] { // it was edited since it was looked at
		seen = r.observe(ctx, []string{address})[0]
	}
	if seen.err != nil {
		return seen.err
	}
	observed, now := seen.Observed, clock.Now().UTC()
	if d := r.desired[address]; d != nil {
		r.waitlist.Rank(address, d.Priority)
	}
	if d, e := r.desired[address], observed.Execution; d != nil && e != nil && r.o.Host.Gateway != nil {
		r.o.Host.Gateway.SetTotal(address, e.N, d.Total)
	}
	todo := seen.Diff(address, r.drained(r.desired[address], observed), now)
	if text := todo.String(); text != "" {
		r.o.Log.Debug("plan", "spec", address, "plan", text)
	}
	if r.draining != nil && todo.Has(plan.Begin) {
		return nil // the next daemon begins it
	}
	if !todo.Wake.IsZero() {
		r.queue.add(address, r.now().Add(todo.Wake.Sub(now)))
	}
	delete(r.notes, address)
	if observed.Execution != nil && observed.Execution.Finished && len(todo.Actions) == 0 {
		delete(r.cells, address)
		if seen.Idle() && r.draining == nil {
			if err := r.stayOver(ctx, address, *observed.Execution); err != nil {
				return err
			}
		}
	}
	err := todo.CarryOut(func(a plan.Action) (more bool, err error) {
		if a.Kind == plan.StartTrial && r.begunEnough() { // also one that only goes on: a thousand do after a crash
			r.queue.add(address, r.now()) // what is left of the plan is made again
			return false, nil
		}
		return r.execute(ctx, address, a)
	})
	return errors.Join(err, r.noteBegun(ctx, address))
}

// note says for what a run waits.
func (r *Reconciler) note(address, why string) {
	r.notes[address] = why
	r.shown.show(address)
}

// do runs f in the loop's goroutine, and returns when the latest snapshot has what f did. A question that
// snapshot can answer must not use it.
func (r *Reconciler) do(ctx context.Context, f func()) error {
	finished := make(chan struct{})
	select {
	case r.calls <- func() { f(); r.shown.waiting = append(r.shown.waiting, finished) }:
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
	which := all
	if !fresh {
		which = nil
	}
	return r.do(ctx, func() { r.rescan(ctx, which) })
}
