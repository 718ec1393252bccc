package reconcile

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/trial"
)

// begun notes that each of the first cells of an execution has a trial. A daemon that starts need not read
// the trials of these cells, nor make the cells. There may be more trials than these.
type begun struct {
	Execution int    `json:"execution"`
	Cells     string `json:"cells"` // identifies the cells and their order
	First     int    `json:"first"` // so many
}

const (
	begunAtLeast = 1024 // cells of an execution for which it is noted: others are read as fast
	begunEvery   = 64   // cells between two notes
	begunLooks   = 1024 // cells behind the noted ones that are looked up before all trials are read instead
)

func begunKey(address string) string { return "begun/" + address }

// cellsID identifies the cells that an execution is to have, and their order.
func (x *cellIndex) cellsID() string {
	sum := sha256.Sum256([]byte(x.run.sum() + " " + x.wanted.layout()))
	return hex.EncodeToString(sum[:])
}

// notes reports whether it is noted which cells have begun: only of large executions whose trials all have
// cells that are wanted.
func (x *cellIndex) notes() bool {
	return x.run != nil && x.wanted == x.run.cells && x.wanted.len() >= begunAtLeast && x.wanted.batches != nil && len(x.left) == 0
}

// noteBegun notes which cells have begun, where these are many more than noted.
func (r *Reconciler) noteBegun(ctx context.Context, address string) error {
	x := r.cells[address]
	if x == nil || !x.notes() {
		return nil
	}
	first := x.wanted.len()
	if len(x.fresh) > 0 {
		first = x.fresh[0]
	}
	if x.notedOf == x.wanted && first < x.noted+begunEvery {
		return nil
	}
	text, err := json.Marshal(begun{x.execution, x.cellsID(), first})
	if err != nil {
		return fmt.Errorf("encode which cells of %s have begun: %w", address, err)
	}
	if err := r.o.Store.Do(ctx, func(tx *store.Tx) error { return tx.PutMeta(begunKey(address), string(text)) }); err != nil {
		return fmt.Errorf("note which cells of %s have begun: %w", address, err)
	}
	x.notedOf, x.noted = x.wanted, first
	return nil
}

// indexOpen puts the trials of an execution in their index that ask for something, and reads no others. False:
// it is not known of which cells the others are.
func (r *Reconciler) indexOpen(tx *store.Tx, address string, x *cellIndex) (done bool, err error) {
	if !x.notes() {
		return false, nil
	}
	text, err := tx.Meta(begunKey(address))
	if err != nil || text == "" {
		return false, err
	}
	var noted begun
	if err := json.Unmarshal([]byte(text), &noted); err != nil {
		return false, fmt.Errorf("read which cells of %s have begun: %w", address, err)
	}
	if noted.Execution != x.execution || noted.First > x.wanted.len() || noted.Cells != x.cellsID() {
		return false, nil
	}
	counts, err := tx.CellCounts(address, x.execution)
	if err != nil {
		return false, err
	}
	behind := -noted.First // trials of cells behind the noted ones
	for _, c := range counts {
		behind += c.Cells
		if c.State == StateSuperseded && c.Cells > 0 {
			return false, nil
		}
	}
	fresh, known, err := x.freshBehind(tx, address, noted.First, behind)
	if err != nil || !known {
		return false, err
	}
	trials, err := r.asking(tx, address, x.execution)
	if err != nil {
		return false, err
	}
	for _, t := range trials {
		x.enter(t)
	}
	x.fresh, x.begun = fresh, behind+noted.First > 0
	x.notedOf, x.noted = x.wanted, noted.First
	return true, nil
}

// freshBehind are the cells without a trial behind the first ones, where so many have one. False: they are
// not found soon.
func (x *cellIndex) freshBehind(tx *store.Tx, address string, first, trials int) (fresh []int, known bool, err error) {
	place := first
	for ; trials > 0; place++ {
		if place == x.wanted.len() || place-first == begunLooks {
			return nil, false, nil
		}
		has, err := hasTrial(tx, address, x.execution, x.wanted.at(place).Key)
		if err != nil {
			return nil, false, err
		}
		if has {
			trials--
		} else {
			fresh = append(fresh, place)
		}
	}
	for ; place < x.wanted.len(); place++ {
		fresh = append(fresh, place)
	}
	return fresh, trials == 0, nil
}

// hasTrial reports whether a cell has a trial.
func hasTrial(tx *store.Tx, address string, execution int, key string) (bool, error) {
	for _, id := range trial.IDs(strings.TrimPrefix(address, "run."), execution, key) {
		c, err := tx.Cell(id)
		if errors.Is(err, store.ErrNotFound) {
			return false, nil
		}
		if err != nil || c.Key == key {
			return err == nil, err
		}
	}
	return false, nil
}

// asking are the trials of an execution that may ask for something.
func (r *Reconciler) asking(tx *store.Tx, address string, execution int) (trials []Trial, err error) {
	ids := map[string]bool{}
	for id, l := range r.live {
		if l.spec == address {
			ids[id] = true // also one that is over, as long as its goroutine is not
		}
	}
	for _, state := range append([]string{string(trial.Cancelled)}, OpenStates...) { // of what was cancelled, the budget counts
		cells, err := tx.CellsOf(store.CellQuery{Spec: address, Execution: execution, State: state, Limit: math.MaxInt32})
		if err != nil {
			return nil, err
		}
		for _, c := range cells {
			ids[c.Trial] = true
		}
	}
	for id := range ids {
		row, err := tx.Trial(id)
		if errors.Is(err, store.ErrNotFound) || err == nil && row.Execution != execution {
			continue // it is not stored yet, or is one of an earlier execution
		}
		if err != nil {
			return nil, err
		}
		t, err := r.trialOf(row)
		if err != nil {
			return nil, err
		}
		trials = append(trials, t)
	}
	return trials, nil
}
