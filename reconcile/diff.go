package reconcile

import (
	"slices"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/runtime/gateway"
	"github.com/assayd/assayd/runtime/task"
	"github.com/assayd/assayd/runtime/trial"
)

// Run is a run block as it is wanted: cells and how they are to be done.
type Run struct {
	Name       string
	Generation string
	Cells      []Cell
	Parallel   int
	Stagger    time.Duration
	Schedule   cron.Schedule // nil = once
	Retries    int           // tries after the first for reasons of infrastructure
	Keep       string
	Blocked    string              // why this version does not do the run; "" = it does
	Grows      bool                // there may be more cells: a mining spec that it takes tasks of is not over
	Waits      string              // for what, before anything of it begins; "" = for nothing
	Total      gateway.Budget      // what an execution may spend on models
	Images     map[string][]string // names of images that it is made of, with the addresses of their tasks
	OnChange   string              // config.OnChangeRerun: another execution when content has changed
}

// Cell is a cell with its key. The whole of it is made when it is asked for: of a run that is
// wanted only the key counts, most of the time.
type Cell struct {
	Key      string
	whole    func() trial.Cell
	solution func() *task.Solution // of the task; nil = not known // nil where no block declares it
}

// Whole is all that the cell consists of; it must be declared.
func (c Cell) Whole() trial.Cell { return c.whole() }

// grows reports whether an execution may come to have more cells.
func (d *Run) grows(e Execution) bool { return d.Grows && len(e.Only) == 0 }

// Execution is one doing of a run.
type Execution struct {
	N         int
	Trigger   string
	StartedAt time.Time
	Settled   bool // no known cell is open
	Finished  bool
	Only      []string // keys of the cells it is limited to; empty = all
	Cancelled bool     // by a user: what is open ends, nothing else starts
	Differs   *Stale   // how its content differs from that of the one before; nil = it does not
}

// Trial is what is known about one trial of the execution.
type Trial struct {
	ID        string
	Key       string
	Try       int
	Live      bool         // a goroutine drives it
	Status    trial.Status // of the last try; "" = open
	Final     bool         // the last try counts
	Unwanted  bool         // it was cancelled because nothing wanted it any more
	EndedAt   time.Time    // of the last try
	Cancelled bool         // cancelling is under way

	Slot       slot // of its cell
	Superseded bool // it is in no number any more
	Again      bool // a user asked for another try
	Funded     bool // it was cancelled because the run had nothing left to spend, and now it has
}

// Open reports whether the trial has no verdict that counts yet.
func (t Trial) Open() bool { return t.Running() || !t.Final }

// Running reports whether a try is under way, whether a goroutine drives it already or a
// former daemon left it: it takes one of the places that parallel gives.
func (t Trial) Running() bool { return t.Live || t.Status == "" }

// Observed is what exists of a run.
type Observed struct {
	Execution *Execution // the last one; nil = none yet
	Trials    []Trial    // of that execution
	GoneSince time.Time  // when the block was first missed; zero = it is there
	LastFired time.Time  // the last firing that was taken up or skipped, or when the schedule was accepted
	Rerun     *Rerun     // asked for by a user

	Stale      *Stale    // how content differs from that of the execution; nil = it does not
	StaleSince time.Time // when it last changed
}

// Rerun asks for a new execution.
type Rerun struct{ Only []string }

// removalGrace is how long a vanished block with running trials is waited for.
const removalGrace = time.Minute

// Diff says what is to be done so that the run exists as wanted. It is pure, and it is
// the only place where policy lives. desired is nil when no file declares the run.
func Diff(address string, desired *Run, o Observed, now time.Time) Plan {
	p := Plan{Address: address}
	switch {
	case desired == nil:
		p.remove(o, now)
	case desired.Blocked != "" && o.Execution != nil && o.Execution.Cancelled:
		p.wind(o)
	case desired.Blocked != "":
		p.add(Action{Kind: Blocked, Cause: desired.Blocked})
		p.takeUp(desired.Cells, o)
	case desired.Waits != "" && (o.Execution == nil || !o.Execution.Cancelled):
		p.add(Action{Kind: Wait, Cause: desired.Waits})
		p.takeUp(desired.Cells, o)
	default:
		p.pursue(desired, o, now)
	}
	return p
}

// remove cancels what a vanished block left open, after the grace if anything runs.
func (p *Plan) remove(o Observed, now time.Time) {
	running, open := false, false
	for _, t := range o.Trials {
		running = running || t.Running() && !t.Cancelled
		open = open || t.Open()
	}
	if until := o.GoneSince.Add(removalGrace); running && now.Before(until) {
		p.add(Action{Kind: Wait, Cause: "the block is gone; its running trials are cancelled at " + stamp(until)})
		p.wakeAt(until)
		p.takeUp(nil, o)
		return
	}
	if open {
		p.cancelUnwanted(nil, o, blockGone)
		return
	}
	if o.Execution != nil && !o.Execution.Finished {
		p.add(Action{Kind: Finish, Execution: o.Execution.N, Cause: blockGone})
	}
	p.add(Action{Kind: Forget, Cause: "no file declares it"})
}

// pursue makes an execution exist and its cells run.
func (p *Plan) pursue(d *Run, o Observed, now time.Time) {
	if begin, ok := p.begins(d, o, now); ok {
		p.add(begin)
		return // the next pass sees the execution
	}
	if o.Execution == nil {
		return
	}
	if o.Execution.Cancelled {
		p.wind(o)
		return
	}
	wanted := wantedCells(d, *o.Execution)
	p.cancelUnwanted(wanted, o, noLongerWanted)
	p.supersede(d, wanted, o)
	open := p.start(d, wanted, o, now) || slices.ContainsFunc(o.Trials, Trial.Running)
	switch {
	case open || p.has(CancelTrial) || o.Execution.Finished && !p.has(Supersede) && !p.has(Reinstate):
	case d.grows(*o.Execution) && len(o.Trials) > 0 && !o.Execution.Settled:
		p.add(Action{Kind: Settle, Execution: o.Execution.N, Cause: "no cell is open, and more may come"})
	case !d.grows(*o.Execution):
		p.add(Action{Kind: Finish, Execution: o.Execution.N, Cause: "no cell is open"})
	}
}

// wind ends an execution that a user cancelled.
func (p *Plan) wind(o Observed) {
	open := false
	for _, t := range o.Trials {
		if t.Open() {
			open = true
			if !t.Cancelled {
				p.add(Action{Kind: CancelTrial, Trial: t.ID, Cause: "cancelled by a user"})
			}
		}
	}
	if !open && !o.Execution.Finished {
		p.add(Action{Kind: Finish, Execution: o.Execution.N, Cause: "cancelled by a user"})
	}
}

// begins decides whether an execution is due.
func (p *Plan) begins(d *Run, o Observed, now time.Time) (Action, bool) {
	open := o.Execution != nil && !o.Execution.Finished
	n := 1
	if o.Execution != nil {
		n = o.Execution.N + 1
	}
	if o.Rerun != nil && !open {
		return Action{Kind: Begin, Execution: n, Trigger: "rerun", Only: o.Rerun.Only, Cause: "rerun was asked for"}, true
	}
	if o.Stale != nil && !open && d.OnChange == config.OnChangeRerun && !o.Execution.Cancelled && len(o.Execution.Only) == 0 {
		if still := o.StaleSince.Add(contentRests); still.After(now) {
			p.wakeAt(still)
			return Action{}, false
		}
		return Action{Kind: Begin, Execution: n, Trigger: "content", Cause: o.Stale.String()}, true
	}
	if d.Schedule == nil {
		return Action{Kind: Begin, Execution: n, Trigger: "accepted", Cause: "the run is new"}, o.Execution == nil
	}
	if o.LastFired.Sub(now) > correction {
		p.add(Action{Kind: Recount, At: now, Cause: "the last firing was at " + stamp(o.LastFired) + ", which is yet to come: the clock was wrong then"})
		return Action{}, false
	}
	due := d.Schedule.Next(o.LastFired)
	if due.IsZero() { // it fires no more
		return Action{}, false
	}
	if due.After(now) {
		p.wakeAt(due)
		return Action{}, false
	}
	// Firings missed while nobody looked are made up once: the last of them counts.
	for next := d.Schedule.Next(due); !next.IsZero() && !next.After(now); next = d.Schedule.Next(due) {
		due = next
	}
	if open {
		p.add(Action{Kind: Skip, Execution: o.Execution.N, At: due, Cause: "the last execution still runs"})
		return Action{}, false
	}
	return Action{Kind: Begin, Execution: n, Trigger: "schedule", At: due, Cause: "the schedule fired at " + stamp(due)}, true
}

// contentRests is how long content must be left alone before a run with on_change is done again.
const contentRests = 5 * time.Second

func wantedCells(d *Run, e Execution) []Cell {
	if len(e.Only) == 0 {
		return d.Cells
	}
	only := map[string]bool{}
	for _, key := range e.Only {
		only[key] = true
	}
	var cells []Cell
	for _, c := range d.Cells {
		if only[c.Key] {
			cells = append(cells, c)
		}
	}
	return cells
}

func (p *Plan) cancelUnwanted(wanted []Cell, o Observed, cause string) {
	keys := map[string]bool{}
	for _, c := range wanted {
		keys[c.Key] = true
	}
	for _, t := range o.Trials {
		if !keys[t.Key] && t.Open() && !t.Cancelled {
			p.add(Action{Kind: CancelTrial, Trial: t.ID, Unwanted: true, Cause: cause})
		}
	}
}

// noLongerWanted is why a cell is cancelled, or its trial superseded, that an edit took away.
const noLongerWanted = "the run no longer wants this cell"

// blockGone is why the trials of a block are cancelled that no file declares any more.
const blockGone = "the block is gone"

// supersede takes the ended trials out of all numbers that an edit replaced, and takes those
// in again that the run wants again.
func (p *Plan) supersede(d *Run, wanted []Cell, o Observed) {
	if len(o.Execution.Only) > 0 {
		return // it was asked for by the key of a cell, which an edit changes
	}
	keys := map[string]bool{}
	for _, c := range wanted {
		keys[c.Key] = true
	}
	for _, t := range o.Trials {
		switch {
		case t.Open():
		case keys[t.Key] && t.Superseded && !t.Unwanted:
			p.add(Action{Kind: Reinstate, Execution: o.Execution.N, Trial: t.ID, Cause: "the run wants this cell again"})
		case !keys[t.Key] && !t.Superseded:
			a := Action{Kind: Supersede, Execution: o.Execution.N, Trial: t.ID, Cause: noLongerWanted}
			for _, c := range wanted {
				if c.slot() == t.Slot {
					a.By, a.Cause = append(a.By, trial.ID(d.Name, o.Execution.N, c.Key)), "an edit or a retry changed this cell"
				}
			}
			p.add(a)
		}
	}
}

// start lets open cells begin, as far as parallel and stagger allow, and reports whether
// any cell is open. What was interrupted goes on first: it has its place already.
func (p *Plan) start(d *Run, wanted []Cell, o Observed, now time.Time) (open bool) {
	byKey, gone := o.byKey(), left(wanted, o)
	places := d.Parallel
	for _, t := range o.Trials {
		if t.Running() {
			places--
		}
	}
	open = p.goOn(wanted, byKey)
	for i, c := range wanted {
		t, known := byKey[c.Key]
		at, cause, ok := due(d, o.Execution, t, known, i, len(wanted))
		if !ok {
			continue
		}
		open = true
		switch {
		case places <= 0: // one becomes free when a trial ends, which is another pass
		case at.After(now):
			p.wakeAt(at)
		default:
			places--
			id := trial.ID(d.Name, o.Execution.N, c.Key)
			if !known && len(gone) > 0 && gone[c.slot()] {
				cause = "an edit or a retry changed this cell"
			}
			p.add(Action{Kind: StartTrial, Trial: id, Cell: c, Try: t.Try + 1, Cause: cause})
		}
	}
	return open
}

// left are the slots of trials whose cell is not wanted any more.
func left(wanted []Cell, o Observed) map[slot]bool {
	keys := make(map[string]bool, len(wanted))
	for _, c := range wanted {
		keys[c.Key] = true
	}
	slots := map[slot]bool{}
	for _, t := range o.Trials {
		if !keys[t.Key] {
			slots[t.Slot] = true
		}
	}
	return slots
}

// takeUp lets every trial go on that runs and that nobody drives, wanted or not. Cells are
// those that are declared.
func (p *Plan) takeUp(cells []Cell, o Observed) {
	for _, t := range o.Trials {
		if !t.Running() || t.Live {
			continue
		}
		cell := Cell{Key: t.Key}
		if i := slices.IndexFunc(cells, func(c Cell) bool { return c.Key == t.Key }); i >= 0 {
			cell = cells[i]
		}
		p.add(Action{Kind: StartTrial, Trial: t.ID, Cell: cell, Try: t.Try, Cause: "go on where the trial was"})
	}
}

// goOn takes up trials that run and that nobody drives, and reports whether any of the
// cells has one that runs.
func (p *Plan) goOn(wanted []Cell, byKey map[string]Trial) (open bool) {
	for _, c := range wanted {
		t, known := byKey[c.Key]
		if !known || !t.Running() {
			continue
		}
		open = true
		if !t.Live {
			p.add(Action{Kind: StartTrial, Trial: t.ID, Cell: c, Try: t.Try, Cause: "go on where the trial was"})
		}
	}
	return open
}

func (o Observed) byKey() map[string]Trial {
	trials := make(map[string]Trial, len(o.Trials))
	for _, t := range o.Trials {
		trials[t.Key] = t
	}
	return trials
}

// due says when a cell may start; it may not when a try of it runs or its verdict stands.
func due(d *Run, e *Execution, t Trial, known bool, i, n int) (at time.Time, cause string, ok bool) {
	switch {
	case !known:
		return e.StartedAt.Add(d.Stagger * time.Duration(i) / time.Duration(n)), "new cell", true
	case t.Running():
	case t.Unwanted:
		return time.Time{}, "the cell is wanted again", true
	case t.Funded:
		return time.Time{}, "the budget of the run was raised", true
	case t.Again:
		return time.Time{}, "retry was asked for after " + string(t.Status), true
	case !t.Final:
		return t.EndedAt.Add(retryPause(t.Try)), "try again after " + string(t.Status), true
	}
	return time.Time{}, "", false
}

// correction is how far a clock must have been set back before firings may repeat a time of
// day; less is waited for, as cron does, so that no job runs twice.
const correction = 3 * time.Hour

// retryPause doubles from five seconds to five minutes.
func retryPause(try int) time.Duration {
	return min(5*time.Second<<min(max(try-1, 0), 10), 5*time.Minute)
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
