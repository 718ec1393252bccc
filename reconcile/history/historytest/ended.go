package historytest

import (
	"encoding/json"
	"fmt"

	"github.com/assayd/assayd/reconcile/history"
	"github.com/assayd/assayd/reconcile/plan"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/clock"
	"github.com/assayd/assayd/runtime/trial"
)

// PutEnded stores the first execution of a run, and its first n trials as resolved, in place of trials that
// were done. change is applied to each state before it is stored.
func PutEnded(tx *store.Tx, d *plan.Run, n int, change ...func(*trial.State)) error {
	line, address := clock.Begin(), "run."+d.Name
	data, err := json.Marshal(history.ExecutionData{Line: line})
	if err != nil {
		return fmt.Errorf("encode an execution: %w", err)
	}
	if err := tx.PutExecution(store.ExecutionRow{Spec: address, N: 1, Trigger: "accepted", StartedAt: line.Now(), Data: data}); err != nil {
		return err
	}
	for _, c := range d.Cells()[:n] {
		id := trial.ID(d.Name, 1, c.Key)
		s := trial.State{
			ID: id, Spec: address, Execution: 1, Key: c.Key, Cell: c.Whole(), Try: 1, Phase: trial.Done, Line: line,
			Result: &trial.Finished{Trial: id, Status: trial.Resolved, Reason: "agent_exit", Final: true},
		}
		for _, f := range change {
			f(&s)
		}
		if s.Result == nil {
			return fmt.Errorf("trial %s has no result", id)
		}
		data, err := json.Marshal(s)
		if err != nil {
			return fmt.Errorf("encode trial %s: %w", id, err)
		}
		row := store.TrialRow{ID: id, Spec: address, Execution: 1, Cell: s.Key, Try: 1, Phase: string(s.Phase), Status: string(s.Result.Status), Wanted: true, Data: data, FinishedAt: line.Now()}
		if err := history.PutTrial(tx, row, s); err != nil {
			return err
		}
	}
	return nil
}
