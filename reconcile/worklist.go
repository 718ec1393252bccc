package reconcile

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"
)

// worklist is what a plan for a run is made from: what exists of it, less the trials that are done
// and stand, of which there may be a hundred thousand.
type worklist struct {
	Observed               // Trials are those that ask for something, by id
	run      *Run          // that it was made for; nil = no file declares it
	wanted   *wantedCells  // that the execution is to have
	fresh    []int         // places in wanted of the cells without a trial, ascending
	left     map[slot]bool // of trials whose cells are not wanted
	begun    bool          // the execution has trials
}

// cellIndex follows the trials of an execution one by one, so that an event costs what is open and
// not what is done. It belongs to its maker.
type cellIndex struct {
	run       *Run // whose cells are wanted; nil = no file declares it
	execution int
	wanted    *wantedCells
	fresh     []int
	asking    []Trial // by id
	left      map[slot]bool
	begun     bool

	noted   int          // cells of notedOf that are noted as begun, the first ones
	notedOf *wantedCells // nil = nothing is noted
}

// newCellIndex is that of an execution without trials; e is nil for a run that has none.
func newCellIndex(d *Run, e *Execution) *cellIndex {
	x := &cellIndex{run: d, left: map[slot]bool{}}
	if e != nil {
		x.execution = e.N
	}
	if d == nil || e == nil {
		return x
	}
	x.wanted = cellsWanted(d, *e)
	x.fresh = make([]int, x.wanted.len())
	for i := range x.fresh {
		x.fresh[i] = i
	}
	return x
}

// grow takes in that a run has got cells since, behind those that it had, and reports whether that is
// all that has changed.
func (x *cellIndex) grow(d *Run, e *Execution) bool {
	if x.run == nil || d == nil || x.run.source == nil || x.run.source != d.source || x.execution != e.N || len(e.Only) > 0 || len(x.left) > 0 || d.cells.len() < x.wanted.len() {
		return false
	}
	for i := x.wanted.len(); i < d.cells.len(); i++ {
		x.fresh = append(x.fresh, i)
	}
	x.run, x.wanted = d, d.cells
	return true
}

// putAll takes in trials of an index that has none yet: one by one, each would move the list of
// fresh cells.
func (x *cellIndex) putAll(trials []Trial) {
	known := make([]bool, x.wanted.len())
	for _, t := range trials {
		if place := x.enter(t); place > 0 {
			known[place-1] = true
		}
	}
	x.fresh = slices.DeleteFunc(x.fresh, func(i int) bool { return known[i] })
}

// put takes in how a trial is now.
func (x *cellIndex) put(t Trial) {
	if i, is := slices.BinarySearch(x.fresh, x.enter(t)-1); is {
		x.fresh = slices.Delete(x.fresh, i, i+1)
	}
}

// enter does what put does but for the list of fresh cells, and returns the trial's place.
func (x *cellIndex) enter(t Trial) int {
	x.begun = true
	if place, is := x.wanted.place(t.Key, t.Slot); is {
		t.place = place + 1
	} else {
		t.place, x.left[t.Slot] = 0, true
	}
	i, there := slices.BinarySearchFunc(x.asking, t.ID, func(a Trial, id string) int { return strings.Compare(a.ID, id) })
	switch {
	case t.asks() && there:
		x.asking[i] = t
	case t.asks():
		x.asking = slices.Insert(x.asking, i, t)
	case there:
		x.asking = slices.Delete(x.asking, i, i+1)
	}
	return t.place
}

// asks reports whether a plan may act on the trial. A verdict that stands asks for nothing, and
// neither does one that is superseded and not wanted.
func (t Trial) asks() bool {
	if t.place == 0 {
		return t.Open() || !t.Superseded
	}
	return t.Open() || t.Superseded || t.Unwanted || t.Again || t.Funded
}

// worklist is what a plan is made from, which later changes of the index leave alone.
func (x *cellIndex) worklist(o Observed) worklist {
	o.Trials = slices.Clone(x.asking)
	return worklist{Observed: o, run: x.run, wanted: x.wanted, fresh: slices.Clone(x.fresh), left: maps.Clone(x.left), begun: x.begun}
}

// cellOf is the cell of a trial; only its key is known where the run does not want it.
func (w worklist) cellOf(t Trial) Cell {
	if t.place == 0 {
		return Cell{Key: t.Key}
	}
	return w.wanted.at(t.place - 1)
}

// inOrder are the trials of wanted cells for which is holds, in the order of the run.
func (w worklist) inOrder(is func(Trial) bool) (some []Trial) {
	for _, t := range w.Trials {
		if t.place > 0 && is(t) {
			some = append(some, t)
		}
	}
	slices.SortFunc(some, func(a, b Trial) int { return cmp.Compare(a.place, b.place) })
	return some
}

// freshAt is when the first cell without a trial may start: stagger spreads the cells of a run.
func (w worklist) freshAt(d *Run, fresh []int) time.Time {
	return w.Execution.StartedAt.Add(d.Stagger * time.Duration(fresh[0]) / time.Duration(w.wanted.len()))
}
