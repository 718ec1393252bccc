package reconcile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

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

// miningStatuses adds the mining specs, or the one of that address.
func (r *Reconciler) miningStatuses(ctx context.Context, address string, s *Status) error {
	for _, known := range slices.Sorted(maps.Keys(r.mines)) {
		if address != "" && address != known {
			continue
		}
		m, err := r.miningStatus(ctx, known)
		if err != nil {
			return err
		}
		s.Minings = append(s.Minings, m)
	}
	return nil
}

func (r *Reconciler) miningStatus(ctx context.Context, address string) (MiningStatus, error) {
	m := MiningStatus{Address: address, State: "waiting", Note: r.notes[address], Tasks: []string{}}
	state, err := r.miningState(ctx, address)
	if err != nil {
		return m, err
	}
	spec, live := r.miningOf(address), r.miners[address]
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
	err = r.o.Store.View(ctx, func(tx *store.Tx) error {
		stream, err := tx.Stream(address)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		m.Results = cmp.Or(stream.File, stream.Path)
		rows, err := tx.Mined(address)
		for _, row := range rows {
			m.Tasks = append(m.Tasks, row.Task)
		}
		return err
	})
	if err != nil {
		return m, err
	}
	if live != nil {
		m.Progress, err = live.miner.Progress(ctx, live.began)
		m.Note = cmp.Or(m.Progress.Waits, m.Note)
		return m, err
	}
	m.Progress, err = r.miningProgress(ctx, address)
	return m, err
}

// miningProgress is how far a spec came for which nobody works now.
func (r *Reconciler) miningProgress(ctx context.Context, address string) (p mining.Progress, err error) {
	err = r.o.Store.View(ctx, func(tx *store.Tx) error {
		counts, err := miningCounts(tx, address)
		if err != nil {
			return err
		}
		spent, err := tx.SpentByExecution(address, 0)
		p = mining.Summed(counts, nil, usageOf(spent))
		return err
	})
	return p, err
}

// cancelMining ends the present work for a spec; it begins again when the spec is edited, or
// by rerun.
func (r *Reconciler) cancelMining(ctx context.Context, address string) error {
	spec, live := r.miningOf(address), r.miners[address]
	state, err := r.miningState(ctx, address)
	if err != nil {
		return err
	}
	if spec == nil || live == nil && state.over(spec.Generation) {
		return fmt.Errorf("cancel %s: %w", address, ErrNothing)
	}
	if err := r.putMiningState(ctx, address, miningState{Generation: spec.Generation, Cancelled: true}); err != nil {
		return err
	}
	if live != nil { // else it has not begun yet
		live.end()
	}
	delete(r.notes, address)
	r.ends(address, true)
	return nil
}

// reviveMining has a spec go on that a user cancelled.
func (r *Reconciler) reviveMining(ctx context.Context, address string) error {
	state, err := r.miningState(ctx, address)
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
		return fmt.Errorf("rerun %s: no file declares it", address)
	case r.miners[address] != nil:
		return fmt.Errorf("rerun %s: it is at work; cancel it or wait for its end", address)
	}
	if err := r.renewMining(ctx, *spec, miningState{Over: true}); err != nil {
		return err
	}
	r.queue.add(address, r.now())
	return nil
}
