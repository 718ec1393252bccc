package plan

import (
	"crypto/sha256"
	"encoding/hex"
)

// Begun notes that each of the first cells of an execution has a trial. A daemon that starts need not read
// the trials of these cells, nor make the cells. There may be more trials than these.
type Begun struct {
	Execution int    `json:"execution"`
	Cells     string `json:"cells"` // identifies the cells and their order
	First     int    `json:"first"` // so many
}

// NotedAtLeast is how many cells an execution has at least for which it is noted: others are read as fast.
const NotedAtLeast = 1024

const (
	begunEvery = 64   // cells between two notes
	begunLooks = 1024 // cells behind the noted ones that are looked up before all trials are read instead
)

// cellsID identifies the cells that an execution is to have, and their order.
func (x *CellIndex) cellsID() string {
	sum := sha256.Sum256([]byte(x.run.Sum() + " " + x.wanted.layout()))
	return hex.EncodeToString(sum[:])
}

// Notes reports whether it is noted which cells have begun: only of large executions whose trials all have
// cells that are wanted.
func (x *CellIndex) Notes() bool {
	return x.run != nil && x.wanted == x.run.cells && x.wanted.Len() >= NotedAtLeast && x.wanted.batches != nil && len(x.left) == 0
}

// Note is what is to be noted of which cells have begun, and whether it is time to: where many more have than are noted.
func (x *CellIndex) Note() (note Begun, due bool) {
	if !x.Notes() {
		return note, false
	}
	first := x.wanted.Len()
	if len(x.fresh) > 0 {
		first = x.fresh[0]
	}
	if x.notedOf == x.wanted && first < x.noted+begunEvery {
		return note, false
	}
	return Begun{x.execution, x.cellsID(), first}, true
}

// Noted takes in that a note is stored.
func (x *CellIndex) Noted(note Begun) { x.notedOf, x.noted = x.wanted, note.First }

// Knows reports whether a note is about the execution and the cells of the index.
func (x *CellIndex) Knows(note Begun) bool {
	return note.Execution == x.execution && note.First <= x.wanted.Len() && note.Cells == x.cellsID()
}

// FreshBehind are the places of the cells without a trial behind the first ones, where so many behind these have one.
// has reports whether the cell with a key has a trial. known is false if they are not found soon.
func (x *CellIndex) FreshBehind(first, trials int, has func(key string) (bool, error)) (fresh []int, known bool, err error) {
	place := first
	for ; trials > 0; place++ {
		if place == x.wanted.Len() || place-first == begunLooks {
			return nil, false, nil
		}
		has, err := has(x.wanted.At(place).Key)
		if err != nil {
			return nil, false, err
		}
		if has {
			trials--
		} else {
			fresh = append(fresh, place)
		}
	}
	for ; place < x.wanted.Len(); place++ {
		fresh = append(fresh, place)
	}
	return fresh, trials == 0, nil
}

// PutOpen takes in the trials that may ask for something, and the places of the cells without a trial, in place of all
// trials. begun says whether the execution has any.
func (x *CellIndex) PutOpen(trials []Trial, fresh []int, begun bool) {
	for _, t := range trials {
		x.enter(t)
	}
	x.fresh, x.begun = fresh, begun
}
