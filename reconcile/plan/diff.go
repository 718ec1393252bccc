package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
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
	Parallel   int
	Stagger    time.Duration
	Schedule   cron.Schedule // nil = once
	Retries    int           // tries after the first for reasons of infrastructure
	Keep       string
	Blocked    string              // why this version does not do the run; "" = it does
	Grows      bool                // there may be more cells: a mining spec that it takes tasks of is not over
	Waits      string              // for what, before anything of it begins; "" = for nothing
	Each       gateway.Budget      // what a try may spend on models
	Total      gateway.Budget      // what an execution may
	AtLimit    string              // what happens when Total is used up, as config.Budget.AtLimit
	Images     map[string][]string // names of images that it is made of, with the addresses of their tasks
	OnChange   string              // config.OnChangeRerun: another execution when content has changed
	Paused     bool                // its file holds it back
	Priority   int                 // from -100 to 100: runs of a higher one are offered room first

	cells  *WantedCells
	source *source // of the cells
	summed string  // by Sum
}

// Cells are the cells that the run wants, in order.
func (d *Run) Cells() []Cell { return d.cells.all() }

// SetCells gives the run these cells, in this order, in place of those that it was compiled with.
func (d *Run) SetCells(cells []Cell) { d.cells = cellsOf(cells) }

// Wanted are the cells of a run; none for nil, which is a run that no file declares.
func (d *Run) Wanted() *WantedCells {
	if d == nil {
		return nil
	}
	return d.cells
}

// MadeFrom reports whether the cells of the run are made from a set.
func (d *Run) MadeFrom(set *config.Set) bool { return d.source.origin().set == set }

// SolutionOf is the solution of the task of the cell with a key, which an edit has left in its slot; nil = the task
// has none. wanted is false where the run does not have the cell, or does not say what the solution is.
func (d *Run) SolutionOf(key string, of Slot) (s *task.Solution, wanted bool) {
	place, is := d.cells.Place(key, of)
	if !is {
		return nil, false
	}
	c := d.cells.At(place)
	if c.solution == nil {
		return nil, false
	}
	return c.solution(), true
}

// Cell is a cell with its key. The whole of it is made when it is asked for: of a run that is
// wanted only the key counts, most of the time.
type Cell struct {
	Key      string
	whole    func() trial.Cell     // nil where no block declares it
	solution func() *task.Solution // of the task; nil = not known
}

// Declared reports whether a block declares the cell; if not, only its key is known.
func (c Cell) Declared() bool { return c.whole != nil }

// Whole is all that the cell consists of. It panics for a cell that is not Declared.
func (c Cell) Whole() trial.Cell { return c.whole() }

// Sum identifies what of a run decides whether an execution of it is over. Two attempts at one task
// differ in nothing but their number.
func (d *Run) Sum() string {
	if d.summed == "" {
		h := sha256.New()
		fmt.Fprintf(h, "%+v\n%d\n", d.Total, d.cells.Len())
		for _, key := range d.cells.first() {
			fmt.Fprintln(h, key)
		}
		d.summed = hex.EncodeToString(h.Sum(nil))
	}
	return d.summed
}

// MayGrow reports whether an execution may come to have more cells.
func (d *Run) MayGrow(e Execution) bool { return d.Grows && len(e.Only) == 0 }

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
	Ended     string   // for what it was over, once it was; "" = an earlier version did not note it
}

// Over reports whether the execution is over and the run wants nothing else since.
func (e Execution) Over(d *Run) bool { return e.Finished && (d == nil || e.Ended == d.Sum()) }

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

	Slot       Slot // of its cell
	place      int  // of its cell among those that are wanted, from 1; 0 = it is not
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
	Trials    []Trial    // of that execution; those that are done and stand may be missing
	GoneSince time.Time  // when the block was first missed; zero = it is there
	LastFired time.Time  // the last firing that was taken up or skipped, or when the schedule was accepted
	Rerun     *Rerun     // asked for by a user

	Stale      *Stale    // how content differs from that of the execution; nil = it does not
	StaleSince time.Time // when it last changed
	Hold       Hold      // what users hold back of the run
	Funds      Funds     // what its budget leaves for more trials
}

// Rerun asks for a new execution.
type Rerun struct {
	Only []string // keys of the cells that it is limited to; empty = all

	Name    string // of the run or the trial that it was asked for by; "" = nobody did, a file was handed in again
	By, Via string // who has, and by which way
}

// RemovalGrace is how long a vanished block with running trials is waited for.
const RemovalGrace = time.Minute

// Diff says what is to be done so that the run exists as wanted. It is pure, and it is
// the only place where policy lives. desired is nil when no file declares the run. It is given all
// trials of the execution.
func Diff(address string, desired *Run, o Observed, now time.Time) Plan {
	x := NewCellIndex(desired, o.Execution)
	for _, t := range o.Trials {
		x.Put(t)
	}
	return x.Worklist(o).Diff(address, desired, now)
}

// Diff is as the function of that name, made from what asks for something.
func (w Worklist) Diff(address string, desired *Run, now time.Time) Plan {
	p := Plan{Address: address}
	switch {
	case desired == nil:
		p.remove(w, now)
	case desired.Blocked != "" && w.Execution != nil && w.Execution.Cancelled:
		p.drain(w)
	case desired.Blocked != "":
		p.add(Action{Kind: Blocked, Cause: desired.Blocked})
		p.adopt(w)
	case desired.Waits != "" && (w.Execution == nil || !w.Execution.Cancelled):
		p.add(Action{Kind: Wait, Cause: desired.Waits})
		p.adopt(w)
	default:
		p.pursue(desired, w, now)
	}
	return p
}

// remove cancels what a vanished block left open, after the grace if anything runs.
func (p *Plan) remove(w Worklist, now time.Time) {
	running, open := false, false
	for _, t := range w.Trials {
		running = running || t.Running() && !t.Cancelled
		open = open || t.Open()
	}
	if until := w.GoneSince.Add(RemovalGrace); running && now.Before(until) {
		p.add(Action{Kind: Wait, Cause: "the block is gone; its running trials are cancelled at " + Stamp(until)})
		p.wakeAt(until)
		p.adopt(w)
		return
	}
	if open {
		p.cancelUnwanted(w, BlockGone)
		return
	}
	if w.Execution != nil && !w.Execution.Finished {
		p.add(Action{Kind: Finish, Execution: w.Execution.N, Cause: BlockGone})
	}
	p.add(Action{Kind: Forget, Cause: "no file declares it"})
}

// pursue makes an execution exist and its cells run.
func (p *Plan) pursue(d *Run, w Worklist, now time.Time) {
	if begin, ok := p.begins(d, w.Observed, now); ok {
		p.add(begin)
		return // the next pass sees the execution
	}
	e := w.Execution
	if e == nil {
		return
	}
	if e.Cancelled {
		p.drain(w)
		return
	}
	p.cancelUnwanted(w, NoLongerWanted)
	p.supersede(d, w)
	open := p.start(d, w, now) || slices.ContainsFunc(w.Trials, Trial.Running)
	switch {
	case open || p.Has(CancelTrial) || e.Finished && !p.Has(Supersede) && !p.Has(Reinstate):
	case d.MayGrow(*e) && w.begun && !e.Settled:
		p.add(Action{Kind: Settle, Execution: e.N, Cause: "no cell is open, and more may come"})
	case !d.MayGrow(*e):
		p.add(Action{Kind: Finish, Execution: e.N, Cause: "no cell is open"})
	}
}

// drain ends an execution that a user cancelled.
func (p *Plan) drain(w Worklist) {
	open := false
	for _, t := range w.Trials {
		if t.Open() {
			open = true
			if !t.Cancelled {
				p.add(Action{Kind: CancelTrial, Trial: t.ID, Cause: "cancelled by a user"})
			}
		}
	}
	if !open && !w.Execution.Finished {
		p.add(Action{Kind: Finish, Execution: w.Execution.N, Cause: "cancelled by a user"})
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
		p.add(Action{Kind: Recount, At: now, Cause: "the last firing was at " + Stamp(o.LastFired) + ", which is yet to come: the clock was wrong then"})
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
	return Action{Kind: Begin, Execution: n, Trigger: "schedule", At: due, Cause: "the schedule fired at " + Stamp(due)}, true
}

// contentRests is how long content must be left alone before a run with on_change is done again.
const contentRests = 5 * time.Second

// WantedIn is how many cells an execution is to have.
func (d *Run) WantedIn(e Execution) int { return cellsWanted(d, e).Len() }

// cellsWanted are the cells that an execution is to have.
func cellsWanted(d *Run, e Execution) *WantedCells {
	if len(e.Only) == 0 {
		return d.cells
	}
	only := map[string]bool{}
	for _, key := range e.Only {
		only[key] = true
	}
	var cells []Cell
	for _, c := range d.Cells() {
		if only[c.Key] {
			cells = append(cells, c)
		}
	}
	return cellsOf(cells)
}

func (p *Plan) cancelUnwanted(w Worklist, cause string) {
	for _, t := range w.Trials {
		if t.place == 0 && t.Open() && !t.Cancelled {
			p.add(Action{Kind: CancelTrial, Trial: t.ID, Unwanted: true, Cause: cause})
		}
	}
}

// NoLongerWanted is why a cell is cancelled, or its trial superseded, that an edit took away.
const NoLongerWanted = "the run no longer wants this cell"

// BlockGone is why the trials of a block are cancelled that no file declares any more.
const BlockGone = "the block is gone"

// supersede takes the ended trials out of all numbers that an edit replaced, and takes those
// in again that the run wants again.
func (p *Plan) supersede(d *Run, w Worklist) {
	if len(w.Execution.Only) > 0 {
		return // it was asked for by the key of a cell, which an edit changes
	}
	var bySlot map[Slot][]string
	for _, t := range w.Trials {
		switch {
		case t.Open():
		case t.place > 0 && t.Superseded && !t.Unwanted:
			p.add(Action{Kind: Reinstate, Execution: w.Execution.N, Trial: t.ID, Cause: "the run wants this cell again"})
		case t.place == 0 && !t.Superseded:
			if bySlot == nil {
				bySlot = w.bySlot(d)
			}
			a := Action{Kind: Supersede, Execution: w.Execution.N, Trial: t.ID, Cause: NoLongerWanted, By: bySlot[t.Slot]}
			if len(a.By) > 0 {
				a.Cause = "an edit or a retry changed this cell"
			}
			p.add(a)
		}
	}
}

// bySlot are the ids that the trials of wanted cells have.
func (w Worklist) bySlot(d *Run) map[Slot][]string {
	ids := make(map[Slot][]string, w.wanted.Len())
	for _, c := range w.wanted.all() {
		s := c.Slot()
		ids[s] = append(ids[s], trial.ID(d.Name, w.Execution.N, c.Key))
	}
	return ids
}

// start lets open cells begin, in the order of the run and as far as parallel and stagger allow,
// and reports whether any cell is open. What was interrupted goes on first: it has its place already.
func (p *Plan) start(d *Run, w Worklist, now time.Time) (open bool) {
	places := newPlaces(d, w)
	defer places.explain(p)
	open = p.goOn(w)
	again, fresh := w.inOrder(Trial.retries), w.fresh
	open = open || len(again) > 0 || len(fresh) > 0
	for places.left > 0 && len(again)+len(fresh) > 0 { // a place becomes free when a trial ends, which is another pass
		if len(fresh) == 0 || len(again) > 0 && again[0].place <= fresh[0] {
			t := again[0]
			again = again[1:]
			if at, cause := t.retry(); at.After(now) {
				p.wakeAt(at)
			} else if places.take(t.place - 1) {
				p.startCell(t.ID, w.cellOf(t), t.Try+1, cause)
			}
			continue
		}
		if at := w.freshAt(d, fresh); at.After(now) {
			p.wakeAt(at)
			fresh = nil // the others are later still
			continue
		}
		place := fresh[0]
		fresh = fresh[1:]
		if !places.take(place) {
			continue
		}
		c := w.wanted.At(place)
		cause := "new cell"
		if len(w.left) > 0 && w.left[c.Slot()] {
			cause = "an edit or a retry changed this cell"
		}
		p.startCell(trial.ID(d.Name, w.Execution.N, c.Key), c, 1, cause)
	}
	return open
}

func (p *Plan) startCell(id string, c Cell, try int, cause string) {
	p.add(Action{Kind: StartTrial, Trial: id, Cell: c, Try: try, Cause: cause})
}

// adopt lets every trial go on that runs and that nobody drives, wanted or not.
func (p *Plan) adopt(w Worklist) {
	for _, t := range w.Trials {
		if t.Running() && !t.Live {
			p.add(Action{Kind: StartTrial, Trial: t.ID, Cell: w.cellOf(t), Try: t.Try, Cause: goesOn})
		}
	}
}

// goOn takes up trials that run and that nobody drives, and reports whether any of the wanted
// cells has one that runs.
func (p *Plan) goOn(w Worklist) (open bool) {
	for _, t := range w.inOrder(Trial.Running) {
		open = true
		if !t.Live {
			p.add(Action{Kind: StartTrial, Trial: t.ID, Cell: w.cellOf(t), Try: t.Try, Cause: goesOn})
		}
	}
	return open
}

// goesOn is why a trial starts that a former daemon drove.
const goesOn = "go on where the trial was"

// retries reports whether another try of an ended trial may start, now or later.
func (t Trial) retries() bool {
	return !t.Running() && (t.Unwanted || t.Funded || t.Again || !t.Final)
}

// retry says when another try of an ended trial may start, and why.
func (t Trial) retry() (at time.Time, cause string) {
	switch {
	case t.Unwanted:
		return time.Time{}, "the cell is wanted again"
	case t.Funded:
		return time.Time{}, "the budget of the run was raised"
	case t.Again:
		return time.Time{}, "retry was asked for after " + string(t.Status)
	}
	return t.EndedAt.Add(retryPause(t.Try)), "try again after " + string(t.Status)
}

// correction is how far a clock must have been set back before firings may repeat a time of
// day; less is waited for, as cron does, so that no job runs twice.
const correction = 3 * time.Hour

// retryPause doubles from five seconds to five minutes.
func retryPause(try int) time.Duration {
	return min(5*time.Second<<min(max(try-1, 0), 10), 5*time.Minute)
}

// Stamp is a time as plans and notes show it.
func Stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
