package history

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/assayd/assayd/reconcile/plan"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/trial"
)

// Standing are the trials of an execution that are not superseded, by id. Every number is made
// of these.
func Standing(tx *store.Tx, address string, n int) ([]trial.State, error) {
	rows, err := tx.Trials(address, n)
	if err != nil {
		return nil, err
	}
	superseded, err := SupersededIn(tx, rows)
	if err != nil {
		return nil, err
	}
	var states []trial.State
	for _, row := range rows {
		s, err := StateOf(row)
		if err != nil {
			return nil, err
		}
		if !superseded(row.ID, s.Replaced) {
			states = append(states, s)
		}
	}
	return states, nil
}

// SupersededIn tells of each trial of an execution whether it is superseded, by its id and what its
// state says has replaced it. In a state directory that an earlier version wrote, and that is open for
// reading only, states do not say.
func SupersededIn(tx *store.Tx, rows []store.TrialRow) (func(id string, replaced *trial.Superseded) bool, error) {
	marked, err := tx.Meta(MarkedKey)
	if err != nil {
		return nil, err
	}
	if marked != "" {
		return func(_ string, replaced *trial.Superseded) bool { return replaced != nil }, nil
	}
	old, err := formerly(rows)
	gone := map[string]bool{}
	for _, s := range old {
		gone[s.Trial] = true
	}
	return func(id string, _ *trial.Superseded) bool { return gone[id] }, err
}

// supersededOf is SupersededIn for who reads the trials one by one: only a state directory of an earlier version
// needs all at once.
func supersededOf(tx *store.Tx, address string, n int) (func(id string, replaced *trial.Superseded) bool, error) {
	marked, err := tx.Meta(MarkedKey)
	var rows []store.TrialRow
	if err == nil && marked == "" {
		rows, err = tx.Trials(address, n)
	}
	if err != nil {
		return nil, err
	}
	return SupersededIn(tx, rows)
}

// MarkSuperseded marks an ended trial as superseded, with the record that says why.
func MarkSuperseded(tx *store.Tx, row store.TrialRow, s trial.State, why trial.Superseded) error {
	if why.By == nil {
		why.By = []string{}
	}
	s.Replaced = &why
	if err := PutState(tx, row, s); err != nil {
		return err
	}
	_, err := tx.AppendLine(store.StreamRef{Spec: row.Spec}, Envelope("trial.superseded", s), why)
	return err
}

// PutState stores another state of an ended trial.
func PutState(tx *store.Tx, row store.TrialRow, s trial.State) error {
	data, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("encode trial %s: %w", s.ID, err)
	}
	row.Data = data
	if err := tx.PutTrial(row); err != nil {
		return err
	}
	c := cellRow(row, s)
	if err := countRounds(tx, s, &c); err != nil { // an earlier version may have counted none
		return err
	}
	return tx.PutCell(c)
}

// MarkedKey says that the trials of the state directory bear marks where they are superseded.
const MarkedKey = "superseded-marked"

// MarkFormer marks the trials of an execution that edits replaced under an earlier version.
func MarkFormer(tx *store.Tx, e store.ExecutionRow) error {
	rows, err := tx.Trials(e.Spec, e.N)
	if err != nil {
		return err
	}
	old, err := formerly(rows)
	for _, why := range old {
		row, err := tx.Trial(why.Trial)
		if err != nil {
			return err
		}
		s, err := StateOf(row)
		if err != nil {
			return err
		}
		if s.Superseded() {
			continue
		}
		if err := MarkSuperseded(tx, row, s, why); err != nil {
			return err
		}
	}
	return err
}

// formerly finds what was superseded in an execution of an earlier version, which bears no
// marks: of ended trials of one slot the one counts that was made last.
func formerly(rows []store.TrialRow) (all []trial.Superseded, err error) {
	type made struct {
		row   store.TrialRow
		state trial.State
	}
	slots := map[plan.Slot][]made{}
	for _, row := range rows {
		s, err := StateOf(row)
		if err != nil {
			return nil, err
		}
		at := plan.SlotOf(s.Cell)
		slots[at] = append(slots[at], made{row, s})
	}
	for _, of := range slots {
		slices.SortStableFunc(of, func(a, b made) int {
			return cmp.Or(a.row.CreatedAt.Compare(b.row.CreatedAt), cmp.Compare(a.row.ID, b.row.ID))
		})
		last := of[len(of)-1]
		for i := len(of) - 1; i >= 0 && last.state.Unwanted; i-- { // an edit was taken back
			if !of[i].state.Unwanted {
				last = of[i]
			}
		}
		for _, m := range of {
			switch {
			case m.row.Status == "" || m.row.ID == last.row.ID && !takenAway(m.state):
			case m.row.ID == last.row.ID:
				all = append(all, trial.Superseded{Trial: m.row.ID, Because: plan.NoLongerWanted})
			default:
				all = append(all, trial.Superseded{Trial: m.row.ID, By: []string{last.row.ID}, Because: "an edit of the spec changed this cell"})
			}
		}
	}
	slices.SortFunc(all, func(a, b trial.Superseded) int { return cmp.Compare(a.Trial, b.Trial) })
	return all, nil
}

// takenAway reports whether an edit cancelled a trial, rather than the end of its block.
func takenAway(s trial.State) bool {
	return s.Unwanted && s.Result != nil && !strings.Contains(s.Result.Detail, plan.BlockGone)
}
