package history

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/assayd/assayd/reconcile/plan"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/clock"
)

// ExecutionData is what an execution's row holds beyond its columns.
type ExecutionData struct {
	Only      []string     `json:"only,omitempty"`
	Cancelled bool         `json:"cancelled,omitempty"`
	Content   []plan.Layer `json:"content,omitempty"` // with which it is done
	Differs   *plan.Stale  `json:"differs,omitempty"` // how that differs from the content of the execution before
	Ended     string       `json:"ended,omitempty"`   // for what cells and budget it was over (plan.Run.Sum)
	// Line is what the start of the execution is of.
	Line clock.Timeline `json:"line,omitzero"`
}

// ExecutionOf is an execution as plans see it.
func ExecutionOf(row store.ExecutionRow) (*plan.Execution, error) {
	var d ExecutionData
	if len(row.Data) > 0 {
		if err := json.Unmarshal(row.Data, &d); err != nil {
			return nil, fmt.Errorf("read execution e%d of %s: %w", row.N, row.Spec, err)
		}
	}
	return &plan.Execution{
		N: row.N, Trigger: row.Trigger, StartedAt: d.Line.Wall(row.StartedAt), Settled: !row.SettledAt.IsZero(),
		Finished: !row.FinishedAt.IsZero(), Only: d.Only, Cancelled: d.Cancelled, Differs: d.Differs, Ended: d.Ended,
	}, nil
}

// Reopen lets the latest execution of a run go on that was settled or over.
func Reopen(tx *store.Tx, address string) error {
	e, err := tx.LatestExecution(address)
	if err != nil || e.SettledAt.IsZero() {
		return err
	}
	e.SettledAt, e.FinishedAt = time.Time{}, time.Time{} // what it was over for is told again at its end
	return tx.PutExecution(e)
}

// Revive lets an execution go on, also one that a user cancelled.
func Revive(tx *store.Tx, address string) error {
	e, err := tx.LatestExecution(address)
	if err != nil {
		return err
	}
	var d ExecutionData
	if len(e.Data) > 0 {
		if err := json.Unmarshal(e.Data, &d); err != nil {
			return err
		}
	}
	d.Cancelled = false
	if e.Data, err = json.Marshal(d); err != nil {
		return err
	}
	if err := tx.PutExecution(e); err != nil {
		return err
	}
	return Reopen(tx, address)
}

// EndFor notes for what an execution is over: as long as the run wants no more, nobody reads its
// trials to find out.
func EndFor(e *store.ExecutionRow, d *plan.Run) (err error) {
	var data ExecutionData
	if len(e.Data) > 0 {
		if err := json.Unmarshal(e.Data, &data); err != nil {
			return fmt.Errorf("read execution e%d of %s: %w", e.N, e.Spec, err)
		}
	}
	if data.Ended = ""; d != nil {
		data.Ended = d.Sum()
	}
	e.Data, err = json.Marshal(data)
	return err
}
