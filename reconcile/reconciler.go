package reconcile

import (
	"context"
	"log/slog"
	"time"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile/admission"
	"github.com/assayd/assayd/reconcile/cellindex"
	"github.com/assayd/assayd/reconcile/cheatscan"
	"github.com/assayd/assayd/reconcile/control"
	"github.com/assayd/assayd/reconcile/drive"
	"github.com/assayd/assayd/reconcile/evaluate"
	"github.com/assayd/assayd/reconcile/foreign"
	"github.com/assayd/assayd/reconcile/ledger"
	"github.com/assayd/assayd/reconcile/miningspec"
	"github.com/assayd/assayd/reconcile/pinned"
	"github.com/assayd/assayd/reconcile/plan"
	"github.com/assayd/assayd/reconcile/preview"
	"github.com/assayd/assayd/reconcile/query"
	"github.com/assayd/assayd/reconcile/query/snapshot"
	"github.com/assayd/assayd/reconcile/query/summaries"
	"github.com/assayd/assayd/reconcile/query/trialview"
	"github.com/assayd/assayd/reconcile/retention"
	"github.com/assayd/assayd/reconcile/specs"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/reconcile/store/change"
	"github.com/assayd/assayd/reconcile/taskcheck"
	"github.com/assayd/assayd/reconcile/troubles"
	"github.com/assayd/assayd/reconcile/upgrade"
	"github.com/assayd/assayd/runtime/clock"
	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/mining"
	"github.com/assayd/assayd/runtime/task"
	"github.com/assayd/assayd/runtime/trial"
)

// Options are what a Reconciler is made of.
type Options struct {
	Store      *store.Store
	Ledger     *ledger.Submissions
	Host       trial.Host
	Admission  *admission.Controller
	Daemon     string          // id of this process, which its containers bear
	Config     config.Options  // how specs are compiled
	Roots      []string        // watched directories, absolute
	ResultsDir string          // "" = beside the specs
	Checkout   *specs.Checkout // the one of Roots that is of a repository; nil = none is
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
// tasks, each safe for any goroutine. All fields below o belong to the goroutine of Run, but for those that say
// otherwise; other goroutines reach them through do.
type Reconciler struct {
	*query.Reader
	*evaluate.Evaluator
	*taskcheck.Checker
	*liveness                      // safe for any goroutine
	Trials    *trialview.Trials    // safe for any goroutine
	Summaries *summaries.Summaries // safe for any goroutine
	Foreign   *foreign.Reports     // safe for any goroutine
	Retention *retention.Collector // safe for any goroutine
	Desk      *control.Desk        // safe for any goroutine, but for what it says
	Orders    *control.Orders      // as Desk
	Notes     *control.Notes       // safe for any goroutine
	o         Options
	calls     chan func()
	freed     chan struct{}
	done      chan struct{}
	troubles  troubles.Troubles  // safe for any goroutine
	scans     *cheatscan.Scanner // safe for any goroutine
	images    *imageWatch        // safe for any goroutine
	upgrade   *upgrade.Upgrade   // set up before Run

	beside     *beside
	specs      *specs.Source // the loop's, but for what any goroutine may call
	runs       *runs
	holds      *holds
	observer   *observer
	trials     *drive.Trials
	waitlist   *admission.Waitlist
	executions *executions
	minings    *minings
	drain      *drain
	previews   *preview.Previewer
	publisher  *publisher
	pace       *pace
}

// New returns a reconciler; Run does the work.
func New(o Options) *Reconciler {
	r := &Reconciler{
		o: o, liveness: &liveness{born: time.Now()}, calls: make(chan func()), freed: make(chan struct{}, 1), done: make(chan struct{}),
		beside: &beside{}, runs: newRuns(o), waitlist: admission.NewWaitlist(o.Admission), pace: &pace{},
	}
	if r.o.Config.Mined == nil {
		r.o.Config.Mined = config.NewMined()
	}
	r.o.Observer = r.o.Observer.whole()
	r.makeRuns()
	r.makeReaders()
	r.makeTrials()
	r.makePlans()
	h := &r.o.Host
	h.Reference, h.Sane, h.Broken, h.Decoys, h.Foresee, h.Control = r.Reference, r.Sane, r.Broken, r.Decoys, r.Foresee, r.Control
	h.Where, h.Pin = r.specs.Where, r.executions.images.Image
	h.Logged = func(trial string) { o.Store.Announce(trial, change.Log) }
	if o.Admission != nil {
		h.Scarce = o.Admission.Scarce
	}
	return r
}

// makeRuns makes what is known of runs, and what is held back of them.
func (r *Reconciler) makeRuns() {
	o := r.o
	r.specs = specs.New(specs.Options{
		Store: o.Store, Config: o.Config, Roots: o.Roots, Checkout: o.Checkout, Results: o.ResultsDir, Log: o.Log,
		Adopt: r.adopt, Open: func(ctx context.Context, blocks config.Blocks) (bool, error) { return r.observer.anyOpen(ctx, blocks) },
		Do: r.do, Heartbeat: r.Heartbeat,
	})
	r.runs.specs = r.specs
	r.runs.contents = pinned.NewContents(pinned.ContentsOptions{
		Store: o.Store, Config: o.Config, InLoop: r.specs.InLoop, Texts: r.specs.Texts, Now: r.runs.now, Log: o.Log, Idle: o.Idle,
	})
	r.runs.cells = cellindex.New(cellindex.Options{
		Desired: r.runs.wanted, Drives: func(address string) []string { return r.trials.Of(address) },
		Driven: func(id string) (cellindex.Driven, bool) {
			slot, cancelled, ok := r.trials.Driven(id)
			return cellindex.Driven{Slot: slot, Cancelled: cancelled}, ok
		},
	})
	r.minings = &minings{runs: r.runs, forget: func(ctx context.Context, address string) error { return r.executions.forget(ctx, address) }}
	r.holds = &holds{runs: r.runs, minings: r.minings, store: o.Store, settings: o.Config.Settings, budget: o.hostBudget(), latest: func() *snapshot.Snapshot { return r.Snapshots.Get() }}
	r.Desk = control.NewDesk(control.Options{
		Store: o.Store, Change: r.change, Now: clock.Now, Drained: o.Drained, Target: r.holds.target, Place: r.runs.place, Look: r.holds.look,
	})
	r.holds.desk = r.Desk
	r.observer = &observer{runs: r.runs, store: o.Store, holds: r.holds}
	r.images = &imageWatch{engine: o.Host.Engine, idle: o.Idle, log: o.Log, runs: r.runs, do: r.do}
	r.upgrade = upgrade.New(upgrade.Options{Store: o.Store, Log: o.Log, Heartbeat: r.Heartbeat})
}

// makeReaders makes what answers questions and judges beside the loop.
func (r *Reconciler) makeReaders() {
	o := r.o
	r.scans = cheatscan.New(cheatscan.Options{
		Store: o.Store, Log: o.Log,
		Scan: func(ctx context.Context, s trial.State, rounds []round.Submission) ([]string, []trial.Effect) {
			return r.o.Host.Scan(ctx, s, rounds)
		},
		Failed: func(ctx context.Context, spec, id string, err error) {
			o.Log.Log(ctx, r.troubles.Level(troubles.Store, err, slog.LevelError), "look through what an agent did", "spec", spec, "trial", id, "error", err)
		},
		Over: func(ctx context.Context, spec string) {
			_ = r.do(ctx, func() { r.runs.due(spec) }) // it may be over; fails where the loop has ended
		},
	})
	snapshots := snapshot.NewLatest(r.done)
	r.Summaries = summaries.New(summaries.Options{Store: o.Store, Snapshots: snapshots, Idle: o.Idle, Log: o.Log})
	r.Reader = query.New(query.Options{
		Store: o.Store, Snapshots: snapshots, Summaries: r.Summaries, OpenBlob: o.Host.OpenBlob, Config: o.Config, Git: gitStatus(o.Checkout), Datasets: o.Datasets, Log: o.Log,
		Idle: o.Idle, Host: hostState(o, r.liveness),
	})
	r.Trials = trialview.New(trialview.Options{Store: o.Store, StateDir: o.Host.StateDir, OpenBlob: o.Host.OpenBlob})
	r.Evaluator = evaluate.New(evaluate.Options{
		Store: o.Store, Ledger: o.Ledger, Host: &r.o.Host, Reader: r.Reader, Admission: o.Admission, Config: o.Config, Accepted: r.specs.Accepted, Hold: r.specs.Hold, Commit: r.specs.CommitOf,
		Solution: r.solution, Go: r.beside.start, Log: o.Log,
	})
	records := &taskRecords{store: o.Store, specs: r.specs, do: r.do}
	r.Checker = taskcheck.New(taskcheck.Options{Host: &r.o.Host, Reader: r.Reader, Evaluator: r.Evaluator, Config: o.Config, Record: records.put})
	r.Foreign = foreign.New(foreign.Options{Store: o.Store, Ledger: o.Ledger, Snapshots: snapshots, StateDir: o.Host.StateDir, Log: o.Log})
	r.Retention = retention.New(retention.Options{
		Store: o.Store, Host: &r.o.Host, Snapshots: snapshots, Needed: r.scans.Needed, Log: o.Log, Daemon: o.Daemon, Troubles: &r.troubles,
		Until:  func(at time.Time) time.Duration { return r.runs.line.Until(at) },
		Before: func(age time.Duration) time.Time { return r.runs.stamped(r.runs.now().Add(-age)) },
	})
}

// makeTrials makes what drives trials, and what users ask of them.
func (r *Reconciler) makeTrials() {
	o := r.o
	r.trials = drive.New(drive.Options{
		Store: o.Store, Ledger: o.Ledger, Host: &r.o.Host, Admission: o.Admission, Waitlist: r.waitlist, Scans: r.scans, Troubles: &r.troubles, Log: o.Log,
		TraceID: o.TraceID, Staged: o.Staged, Desired: r.runs.wanted, Place: r.runs.placeIn, Go: r.beside.start,
		Touch: r.runs.cells.Touch, Due: r.runs.due, Note: r.runs.note, Now: r.runs.now, Verdict: r.Foreign.Stale, Kept: r.Retention.Changed,
	})
	r.Orders = r.trials.Orders
	r.Notes = control.NewNotes(control.NoteOptions{
		Store: o.Store, Change: r.change, Now: clock.Now,
		Place: func(ctx context.Context, target string) (control.Place, error) {
			if plan.IsMining(target) && r.specs.Mining(target) != nil {
				return r.runs.place(target), nil
			}
			address, cell, err := r.resolve(ctx, target)
			if err != nil || cell == "" {
				return r.runs.place(address), err
			}
			s, err := r.trials.Stored(ctx, target)
			return r.runs.placeIn(s.Spec, s.Execution), err
		},
	})
}

// makePlans makes what carries out plans, and what shows them.
func (r *Reconciler) makePlans() {
	o := r.o
	sums := &finalSummaries{runs: r.runs, beside: r.beside, make: r.Summaries.Summary, do: r.do, all: map[string]*summing{}}
	r.executions = &executions{
		runs: r.runs, store: o.Store, log: o.Log, observer: r.observer, trials: r.trials, scans: r.scans, foreign: r.Foreign, retention: r.Retention, desk: r.Desk,
		waitlist: r.waitlist, images: pinned.NewImages(o.Store), summaries: sums, pace: r.pace, finished: make(chan struct{}, 1),
	}
	r.minings.all = miningspec.New(miningspec.Options{
		Store: o.Store, Mined: o.Config.Mined, Log: o.Log, Miner: r.miner, Spec: r.specs.Mining, Stream: r.specs.Stream, Place: r.runs.place,
		Held: func(spec *config.Mining) string {
			set, _ := r.Desk.Holds()
			return whyHeld(set, spec)
		},
		Beside: r.beside.until,
		Do:     func(f func()) error { return r.do(r.beside.life, f) }, // also while the spec is edited
		Note:   r.runs.note, Due: r.runs.changed,
		Grown: func(name string) { r.runs.grown(r.beside.life, name) },
	})
	r.drain = &drain{runs: r.runs, observer: r.observer, minings: r.minings.all, undone: map[string]bool{}, over: make(chan struct{})}
	r.minings.drain = r.drain
	r.previews = preview.New(preview.Options{
		Store: o.Store, Contents: r.runs.contents, Minings: r.minings.all, Admission: o.Admission, Observed: r.observer.all,
		Desired: func() map[string]*plan.Run { return r.runs.desired }, Hold: r.holds.onRun,
	})
	r.publisher = &publisher{runs: r.runs, minings: r.minings, waitlist: r.waitlist, snapshots: r.Snapshots, store: o.Store}
}

// miner is miningspec.Options.Miner.
func (r *Reconciler) miner(spec config.Mining) (mining.Options, error) {
	o, err := r.o.Mining(spec)
	o.Gateway, o.Images = r.o.Host.Gateway, r.o.Host.Images
	o.Room, o.Judge, o.Printed = r.Room, r.JudgePatch, r.Printed
	o.Begin = func(ctx context.Context) error { return r.holds.mayBegin(ctx, spec.Address()) }
	o.Waitable = func(err error) bool { return container.Unavailable(err) || container.Passes(err) }
	return o, err
}

// solution is evaluate.Options.Solution.
func (r *Reconciler) solution(ctx context.Context, s trial.State) (solution *task.Solution, wanted bool, err error) {
	err = r.do(ctx, func() {
		if d := r.runs.desired[s.Spec]; d != nil {
			solution, wanted = d.SolutionOf(s.Key, plan.SlotOf(s.Cell))
		}
	})
	return solution, wanted, err
}

// hostState is what health is told of the daemon; nil where none runs.
func hostState(o Options, l *liveness) func() query.HostState {
	if o.Idle {
		return nil
	}
	return func() query.HostState {
		s := query.HostState{LoopAge: l.Age(), Free: -1}
		if o.Admission != nil {
			s.Free = o.Admission.Load().DiskLeft
		}
		return s
	}
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

// gitStatus is how a checkout is; nil where there is none.
func gitStatus(c *specs.Checkout) func() query.GitStatus {
	if c == nil {
		return nil
	}
	return c.Status
}
