package drive

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/assayd/assayd/reconcile/cheatscan"
	"github.com/assayd/assayd/reconcile/history"
	"github.com/assayd/assayd/reconcile/plan"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/trial"
)

// stateAs is the stored state of a trial, or fresh where there is none, by its name: the first one that
// no other cell's trial has. With it comes what is stored, nil where nothing is.
func stateAs(tx *store.Tx, fresh trial.State) (s trial.State, stored []byte, err error) {
	ids := trial.IDs(strings.TrimPrefix(fresh.Spec, "run."), fresh.Execution, fresh.Key)
	if !slices.Contains(ids, fresh.ID) { // the first version had another key for the cell
		ids = append([]string{fresh.ID}, ids...)
	}
	for _, id := range ids {
		row, err := tx.Trial(id)
		switch {
		case errors.Is(err, store.ErrNotFound):
			fresh.ID = id
			return fresh, nil, nil
		case err != nil:
			return fresh, nil, err
		case row.Cell == fresh.Key:
			s, err = history.StateOf(row)
			return s, row.Data, err
		}
	}
	return fresh, nil, fmt.Errorf("the names of trial %s belong to other cells", fresh.ID)
}

// nextState is the state that a start begins with, and what of the trial is stored.
func (t *Trials) nextState(ctx context.Context, address string, a plan.Action) (state trial.State, stored []byte, err error) {
	fresh := trial.State{ID: a.Trial, Spec: address, Key: a.Cell.Key, Try: 1, Phase: trial.Pending}
	if a.Cell.Declared() {
		fresh.Cell = a.Cell.Whole()
	}
	if err := t.o.Store.View(ctx, func(tx *store.Tx) error {
		e, err := tx.LatestExecution(address)
		if err != nil {
			return err
		}
		fresh.Execution = e.N
		state, stored, err = stateAs(tx, fresh)
		return err
	}); err != nil {
		return state, nil, err
	}
	d := t.o.Desired(address)
	if state.Phase == trial.Done {
		if d != nil && plan.Funded(state, d.Total) { // its verdict was that it could not be paid for
			open := *state.Result
			open.Final = false
			state.Result = &open
		}
		if state, err = trial.Restarted(state); err != nil {
			return state, nil, err
		}
		if d != nil {
			state.Cell.Total = d.Total
		}
	}
	if d != nil {
		state.Generation, state.Retries, state.Keep = d.Generation, d.Retries, d.Keep
	}
	return state, stored, nil
}

// commitChanged stores a trial's state unless it is stored: after a crash a thousand trials go on as they were.
func (t *Trials) commitChanged(ctx context.Context, s trial.State, stored []byte) error {
	if data, err := json.Marshal(s); err == nil && bytes.Equal(data, stored) {
		return nil
	}
	return t.commit(ctx, s, nil)
}

// commit stores a trial's state and the records that report it, in one transaction. A new
// trial in an execution that was over opens it again.
func (t *Trials) commit(ctx context.Context, s trial.State, effects []trial.Effect) error {
	data, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("encode trial %s: %w", s.ID, err)
	}
	row := store.TrialRow{
		ID: s.ID, Spec: s.Spec, Execution: s.Execution, Cell: s.Key, Try: s.Try, Phase: string(s.Phase), Wanted: !s.Unwanted, Data: data,
	}
	if s.Phase == trial.Done {
		row.Status, row.FinishedAt = string(s.Result.Status), s.Line.Now()
	}
	if s.Phase == trial.Done && s.Cell.Mode == trial.Single {
		defer func() { t.o.Verdict(s.Spec) }() // also when it failed: then nothing has changed
	}
	scan, looked := cheatscan.Of(s)
	err = t.o.Store.Do(ctx, func(tx *store.Tx) error {
		if looked {
			if err := tx.PutMeta(scan.Mark()); err != nil {
				return err
			}
		}
		if s.Phase == trial.Pending {
			if err := history.Reopen(tx, s.Spec); err != nil {
				return err
			}
		}
		if err := history.PutTrial(tx, row, s); err != nil {
			return err
		}
		if s.Phase == trial.Done {
			if err := errors.Join(noteDisk(tx, s), t.Orders.Drop(tx, s)); err != nil {
				return err
			}
		}
		for _, e := range effects {
			if err := history.AppendEffect(tx, s, e); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if s.Phase == trial.Done {
		t.Orders.Forget(s)
	}
	if looked {
		t.o.Scans.Add(scan)
	}
	return nil
}

// Stored is the state of a trial as it is in the store.
func (t *Trials) Stored(ctx context.Context, id string) (state trial.State, err error) {
	err = t.o.Store.View(ctx, func(tx *store.Tx) error {
		state, err = storedState(tx, id)
		return err
	})
	return state, err
}

func storedState(tx *store.Tx, id string) (trial.State, error) {
	row, err := tx.Trial(id)
	if err != nil {
		return trial.State{}, err
	}
	return history.StateOf(row)
}
