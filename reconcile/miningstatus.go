package reconcile

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile/ledger"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/mining"
)

// MiningStatus is the state of one mining spec.
type MiningStatus struct {
	Address    string          `json:"address"`
	File       string          `json:"file"`
	Generation string          `json:"generation"`
	State      string          `json:"state"` // waiting, running, finished, cancelled, removed
	Note       string          `json:"note,omitempty"`
	Results    string          `json:"results"` // path of the JSONL file
	Dir        string          `json:"dir"`     // where tasks are written
	Progress   mining.Progress `json:"progress"`
	Tasks      []string        `json:"tasks"` // that were mined, the first one first
}

// miningStatus reads the state of a mining spec, with the names of its tasks.
func (r *Reconciler) miningStatus(ctx context.Context, seen miningView) (MiningStatus, error) {
	m, err := r.miningHead(ctx, seen)
	if err != nil {
		return m, err
	}
	return m, r.o.Store.View(ctx, func(tx *store.Tx) error {
		rows, err := tx.Mined(seen.address)
		for _, row := range rows {
			m.Tasks = append(m.Tasks, row.Task)
		}
		return err
	})
}

// miningHead reads the state of a mining spec. It may have seen millions of pull requests, so the
// loop has no part in it.
func (r *Reconciler) miningHead(ctx context.Context, seen miningView) (MiningStatus, error) {
	m := MiningStatus{Address: seen.address, State: "waiting", Note: seen.note, Tasks: []string{}}
	state, err := ledger.MiningStateOf(ctx, r.o.Store, seen.address)
	if err != nil {
		return m, err
	}
	spec, live := seen.spec, seen.live
	switch {
	case spec == nil:
		m.State, m.Note = "removed", cmp.Or(m.Note, "no file declares it")
	case live != nil:
		m.State = "running"
	case state.Generation == spec.Generation && state.Cancelled:
		m.State = "cancelled"
	case state.Generation == spec.Generation && state.Over:
		m.State, m.Note = "finished", state.Cause
	}
	if spec != nil {
		m.File, m.Generation, m.Dir = spec.Pos.File, spec.Generation, spec.Output.Dir
	}
	var spent store.Spent
	err = r.o.Store.View(ctx, func(tx *store.Tx) error {
		if m.Results, _, err = resultsOf(tx, seen.address); err != nil {
			return err
		}
		spent, err = tx.SpentByExecution(seen.address, 0)
		return err
	})
	switch {
	case err != nil:
		return m, err
	case live != nil:
		m.Progress, err = live.miner.Progress(ctx)
		m.Note = cmp.Or(m.Progress.Waits, m.Note)
		return m, err
	case spec == nil:
		spec = &config.Mining{Block: config.Block{Kind: "mining", Name: strings.TrimPrefix(seen.address, "mining.")}}
	}
	m.Progress, err = mining.Reached(ctx, &ledger.Mining{Store: r.o.Store, Spec: *spec, Log: r.o.Log}, *spec, ledger.UsageOf(spent))
	return m, err
}

// cancelMining ends the present work for a spec; it begins again when the spec is edited, or
// by rerun.
func (r *Reconciler) cancelMining(ctx context.Context, address string) error {
	spec, live := r.miningOf(address), r.miners[address]
	state, err := ledger.MiningStateOf(ctx, r.o.Store, address)
	if err != nil {
		return err
	}
	if spec == nil || live == nil && state.Done(spec.Generation) {
		return fmt.Errorf("cancel %s: %w", address, ErrNothing)
	}
	if err := r.o.Store.Do(ctx, func(tx *store.Tx) error {
		return ledger.PutMiningState(tx, address, ledger.MiningState{Generation: spec.Generation, Cancelled: true})
	}); err != nil {
		return err
	}
	if live != nil { // else it has not begun yet
		live.end()
	}
	delete(r.notes, address)
	r.shown.show(address)
	r.ends(address, true)
	return nil
}

// reviveMining has a spec go on that a user cancelled.
func (r *Reconciler) reviveMining(ctx context.Context, address string) error {
	state, err := ledger.MiningStateOf(ctx, r.o.Store, address)
	if err != nil || !state.Cancelled {
		return err
	}
	return r.rerunMining(ctx, address)
}

// rerunMining has a spec that is over read its source again.
func (r *Reconciler) rerunMining(ctx context.Context, address string) error {
	spec := r.miningOf(address)
	switch {
	case spec == nil:
		return conflict("rerun %s: no file declares it", address)
	case r.miners[address] != nil:
		return conflict("rerun %s: it is at work; cancel it or wait for its end", address)
	}
	if err := r.renewMining(ctx, *spec, ledger.MiningState{Over: true}); err != nil {
		return err
	}
	r.queue.add(address, r.now())
	return nil
}
