package query

import (
	"cmp"
	"context"
	"strings"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile/hold"
	"github.com/assayd/assayd/reconcile/ledger"
	"github.com/assayd/assayd/reconcile/query/snapshot"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/clock"
	"github.com/assayd/assayd/runtime/mining"
)

// MiningStatus is the state of one mining spec.
type MiningStatus struct {
	Address    string          `json:"address"`
	File       string          `json:"file"`
	Generation string          `json:"generation"`
	State      string          `json:"state"` // waiting, running, finished, cancelled, removed
	Note       string          `json:"note,omitempty"`
	Results    string          `json:"results"`          // path of the JSONL file
	Dir        string          `json:"dir"`              // where tasks are written
	Holds      hold.Set        `json:"holds,omitempty"`  // that keep it from beginning anything
	Paused     bool            `json:"paused,omitempty"` // its file holds it back
	Progress   mining.Progress `json:"progress"`
	Tasks      []string        `json:"tasks"` // that were mined, the first one first
}

// miningStatus reads the state of a mining spec, with the names of its tasks.
func (r *Reader) miningStatus(ctx context.Context, seen snapshot.MiningView) (MiningStatus, error) {
	m, err := r.miningHead(ctx, seen)
	if err != nil {
		return m, err
	}
	return m, r.o.Store.View(ctx, func(tx *store.Tx) error {
		rows, err := tx.Mined(seen.Address)
		for _, row := range rows {
			m.Tasks = append(m.Tasks, row.Task)
		}
		return err
	})
}

// miningHead reads the state of a mining spec. It may have seen millions of pull requests, so the
// loop has no part in it.
func (r *Reader) miningHead(ctx context.Context, seen snapshot.MiningView) (MiningStatus, error) {
	m := MiningStatus{Address: seen.Address, State: "waiting", Note: seen.Note, Tasks: []string{}}
	state, err := ledger.MiningStateOf(ctx, r.o.Store, seen.Address)
	if err != nil {
		return m, err
	}
	spec, miner := seen.Spec, seen.Miner
	switch {
	case spec == nil:
		m.State, m.Note = "removed", cmp.Or(m.Note, "no file declares it")
	case miner != nil:
		m.State = "running"
	case state.Generation == spec.Generation && state.Cancelled:
		m.State = "cancelled"
	case state.Generation == spec.Generation && state.Over:
		m.State, m.Note = "finished", state.Cause
	}
	if spec != nil {
		m.File, m.Generation, m.Dir, m.Paused = spec.Pos.File, spec.Generation, spec.Output.Dir, spec.Paused
	}
	var spent store.Spent
	err = r.o.Store.View(ctx, func(tx *store.Tx) error {
		if m.Results, _, err = resultsOf(tx, seen.Address); err != nil {
			return err
		}
		if spent, err = tx.SpentByExecution(seen.Address, 0); err != nil || spec == nil {
			return err
		}
		holds, err := hold.Read(tx)
		m.Holds = holds.OnMining(clock.Now(), seen.Address, spec.Provider)
		return err
	})
	switch {
	case err != nil:
		return m, err
	case miner != nil:
		m.Progress, err = miner.Progress(ctx)
		m.Note = cmp.Or(m.Progress.Waits, m.Note)
		return m, err
	case spec == nil:
		spec = &config.Mining{Block: config.Block{Kind: "mining", Name: strings.TrimPrefix(seen.Address, "mining.")}}
	}
	m.Progress, err = mining.Reached(ctx, &ledger.Mining{Store: r.o.Store, Spec: *spec, Log: r.o.Log}, *spec, ledger.UsageOf(spent))
	return m, err
}
