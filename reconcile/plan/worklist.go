package plan

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"
)

// Worklist is what a plan for a run is made from: what exists of it, less the trials that are done
// and stand, of which there may be a hundred thousand.
type Worklist struct {
	Observed               // Trials are those that ask for something, by id
	Run      *Run          // that it was made for; nil = no file declares it
	wanted   *WantedCells  // that the execution is to have
	fresh    []int         // places in wanted of the cells without a trial, ascending
	left     map[Slot]bool // of trials whose cells are not wanted
	begun    bool          // the execution has trials
}

// CellIndex follows the trials of an execution one by one, so that an event costs what is open and
// not what is done. It belongs to its maker.
type CellIndex struct {
	run       *Run // whose cells are wanted; nil = no file declares it
	execution int
	wanted    *WantedCells
	fresh     []int
	asking    []Trial // by id
	left      map[Slot]bool
	begun     bool

	noted   int          // cells of notedOf that are noted as begun, the first ones
	notedOf *WantedCells // nil = nothing is noted
}

// NewCellIndex is that of an execution without trials; e is nil for a run that has none.
func NewCellIndex(d *Run, e *Execution) *CellIndex {
	x := &CellIndex{run: d, left: map[Slot]bool{}}
	if e != nil {
		x.execution = e.N
	}
	if d == nil || e == nil {
		return x
	}
	x.wanted = cellsWanted(d, *e)
	x.fresh = make([]int, x.wanted.Len())
	for i := range x.fresh {
		x.fresh[i] = i
	}
	return x
}

// Fits reports whether the index is that of an execution of a run, once it has taken in the cells that the run has
// got since.
func (x *CellIndex) Fits(d *Run, e *Execution) bool {
	return x.execution == e.N && (x.run == d || x.grow(d, e))
}

// Execution is the number of the execution.
func (x *CellIndex) Execution() int { return x.execution }

// grow takes in that a run has got cells since, behind those that it had, and reports whether that is
// all that has changed.
func (x *CellIndex) grow(d *Run, e *Execution) bool {
	if x.run == nil || d == nil || x.run.source == nil || x.run.source != d.source || x.execution != e.N || len(e.Only) > 0 || len(x.left) > 0 || d.cells.Len() < x.wanted.Len() {
		return false
	}
	for i := x.wanted.Len(); i < d.cells.Len(); i++ {
		x.fresh = append(x.fresh, i)
	}
	x.run, x.wanted = d, d.cells
	return true
}

// PutAll takes in trials of an index that has none yet: one by one, each would move the list of
// fresh cells.
func (x *CellIndex) PutAll(trials []Trial) {
	known := make([]bool, x.wanted.Len())
	for _, t := range trials {
		if place := x.enter(t); place > 0 {
			known[place-1] = true
		}
	}
	x.fresh = slices.DeleteFunc(x.fresh, func(i int) bool { return known[i] })
}

// Put takes in how a trial is now.
func (x *CellIndex) Put(t Trial) {
	if i, is := slices.BinarySearch(x.fresh, x.enter(t)-1); is {
		x.fresh = slices.Delete(x.fresh, i, i+1)
	}
}

// enter does what Put does but for the list of fresh cells, and returns the trial's place.
func (x *CellIndex) enter(t Trial) int {
	x.begun = true
	if place, is := x.wanted.Place(t.Key, t.Slot); is {
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

// Worklist is what a plan is made from, which later changes of the index leave alone.
func (x *CellIndex) Worklist(o Observed) Worklist {
	o.Trials = slices.Clone(x.asking)
	return Worklist{Observed: o, Run: x.run, wanted: x.wanted, fresh: slices.Clone(x.fresh), left: maps.Clone(x.left), begun: x.begun}
}

// Over is the worklist of an execution that is over, of which nothing is wanted.
func Over(d *Run, o Observed) Worklist { return Worklist{Observed: o, Run: d, begun: true} }

// Idle reports whether no trial asks for anything and no cell is without a trial.
func (w Worklist) Idle() bool { return len(w.Trials) == 0 && len(w.fresh) == 0 }

// cellOf is the cell of a trial; only its key is known where the run does not want it.
func (w Worklist) cellOf(t Trial) Cell {
	if t.place == 0 {
		return Cell{Key: t.Key}
	}
	return w.wanted.At(t.place - 1)
}

// inOrder are the trials of wanted cells for which is holds, in the order of the run.
func (w Worklist) inOrder(is func(Trial) bool) (some []Trial) {
	for _, t := range w.Trials {
		if t.place > 0 && is(t) {
			some = append(some, t)
		}
	}
	slices.SortFunc(some, func(a, b Trial) int { return cmp.Compare(a.place, b.place) })
	return some
}

// freshAt is when the first cell without a trial may start: stagger spreads the cells of a run.
func (w Worklist) freshAt(d *Run, fresh []int) time.Time {
	return w.Execution.StartedAt.Add(d.Stagger * time.Duration(fresh[0]) / time.Duration(w.wanted.Len()))
}
