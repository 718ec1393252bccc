package cellindex

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"github.com/assayd/assayd/reconcile/history"
	"github.com/assayd/assayd/reconcile/plan"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/trial"
)

// NoteBegun stores which cells of a run have begun, where these are many more than noted: the next daemon need not read
// their trials.
func (c *Cells) NoteBegun(ctx context.Context, kept *store.Store, address string) error {
	x := c.indices[address]
	if x == nil {
		return nil
	}
	note, due := x.Note()
	if !due {
		return nil
	}
	text, err := json.Marshal(note)
	if err != nil {
		return fmt.Errorf("encode which cells of %s have begun: %w", address, err)
	}
	if err := kept.Do(ctx, func(tx *store.Tx) error { return tx.PutMeta(history.BegunKey(address), string(text)) }); err != nil {
		return fmt.Errorf("note which cells of %s have begun: %w", address, err)
	}
	x.Noted(note)
	return nil
}

// indexOpen puts the trials of an execution in their index that ask for something, and reads no others. False:
// it is not known of which cells the others are.
func (c *Cells) indexOpen(tx *store.Tx, address string, x *plan.CellIndex) (done bool, err error) {
	if !x.Notes() {
		return false, nil
	}
	text, err := tx.Meta(history.BegunKey(address))
	if err != nil || text == "" {
		return false, err
	}
	var noted plan.Begun
	if err := json.Unmarshal([]byte(text), &noted); err != nil {
		return false, fmt.Errorf("read which cells of %s have begun: %w", address, err)
	}
	if !x.Knows(noted) {
		return false, nil
	}
	counts, err := tx.CellCounts(address, x.Execution())
	if err != nil {
		return false, err
	}
	behind := -noted.First // trials of cells behind the noted ones
	for _, n := range counts {
		behind += n.Cells
		if n.State == history.StateSuperseded && n.Cells > 0 {
			return false, nil
		}
	}
	fresh, known, err := x.FreshBehind(noted.First, behind, func(key string) (bool, error) { return history.HasTrial(tx, address, x.Execution(), key) })
	if err != nil || !known {
		return false, err
	}
	trials, err := c.asking(tx, address, x.Execution())
	if err != nil {
		return false, err
	}
	x.PutOpen(trials, fresh, behind+noted.First > 0)
	x.Noted(noted)
	return true, nil
}

// asking are the trials of an execution that may ask for something.
func (c *Cells) asking(tx *store.Tx, address string, execution int) (trials []plan.Trial, err error) {
	ids := map[string]bool{}
	for _, id := range c.o.Drives(address) {
		ids[id] = true // also one that is over, as long as its goroutine is not
	}
	for _, state := range append([]string{string(trial.Cancelled)}, history.OpenStates...) { // of what was cancelled, the budget counts
		cells, err := tx.CellsOf(store.CellQuery{Spec: address, Execution: execution, State: state, Limit: math.MaxInt32})
		if err != nil {
			return nil, err
		}
		for _, cell := range cells {
			ids[cell.Trial] = true
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
		t, err := c.trialOf(row)
		if err != nil {
			return nil, err
		}
		trials = append(trials, t)
	}
	return trials, nil
}
