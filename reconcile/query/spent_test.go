package query

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/reconcile/plan"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/reconcile/store/storetest"
	"github.com/assayd/assayd/runtime/agent"
	"github.com/assayd/assayd/runtime/gateway"
	"github.com/assayd/assayd/runtime/trial"
)

// What an execution has spent is all that its tries did, of the budget that the run has now.
func TestARunShowsWhatItSpentOfItsBudget(t *testing.T) {
	old, now := gateway.Budget{USD: 1}, gateway.Budget{USD: 5, Tokens: 1000}
	asks := agent.Agent{API: "openai"}
	for _, tt := range []struct {
		name   string
		cells  []trial.Cell // the last one is what the run has now
		usage  *gateway.Usage
		budget *gateway.Budget
	}{
		{"with a budget", []trial.Cell{{Agent: asks, Total: now}}, &gateway.Usage{InputTokens: 30, OutputTokens: 6, Requests: 3, CostUSD: 1.5}, &now},
		{"without one", []trial.Cell{{Agent: asks}}, &gateway.Usage{InputTokens: 30, OutputTokens: 6, Requests: 3, CostUSD: 1.5}, nil},
		{"with another one than before", []trial.Cell{{Agent: asks, Total: old}, {Agent: asks, Total: now}}, &gateway.Usage{InputTokens: 30, OutputTokens: 6, Requests: 3, CostUSD: 1.5}, &now},
		{"without the one of before", []trial.Cell{{Agent: asks, Total: old}, {Agent: asks}}, &gateway.Usage{InputTokens: 30, OutputTokens: 6, Requests: 3, CostUSD: 1.5}, nil},
		{"without models", []trial.Cell{{}}, nil, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := storetest.Open(t)
			last := tt.cells[len(tt.cells)-1]
			d := &plan.Run{}
			d.SetCells([]plan.Cell{{Key: last.Key()}})
			check(t, s.Do(t.Context(), func(tx *store.Tx) error {
				check(t, tx.PutExecution(store.ExecutionRow{Spec: "run.x", N: 1}))
				for _, c := range tt.cells {
					state := trial.State{ID: trial.ID("x", 1, c.Key()), Spec: "run.x", Execution: 1, Key: c.Key(), Cell: c, Try: 2, Phase: trial.Running}
					data, err := json.Marshal(state)
					check(t, err)
					check(t, tx.PutTrial(store.TrialRow{ID: state.ID, Spec: "run.x", Execution: 1, Cell: c.Key(), Try: 2, Phase: "running", Data: data}))
				}
				if tt.usage == nil {
					return nil
				}
				id := trial.ID("x", 1, last.Key())
				for _, x := range []store.ExchangeRow{
					{Execution: 1, Trial: id, Try: 1}, {Execution: 1, Trial: id, Try: 2}, {Execution: 1, Trial: "another", Try: 1}, {Execution: 2, Trial: id, Try: 1},
				} {
					x.Spec, x.Input, x.Output, x.USD = "run.x", 10, 2, 0.5
					_, err := tx.InsertExchange(x)
					check(t, err)
				}
				return nil
			}))
			run := RunStatus{Address: "run.x"}
			check(t, s.View(t.Context(), func(tx *store.Tx) error {
				rows, err := tx.Trials("run.x", 1)
				run.Execution = 1
				return errors.Join(err, trialStatuses(tx, d, rows, &run), spentStatus(tx, d, &run))
			}))
			if diff := cmp.Diff(tt.usage, run.Usage); diff != "" {
				t.Errorf("spent: %s", diff)
			}
			if diff := cmp.Diff(tt.budget, run.Budget); diff != "" {
				t.Errorf("budget: %s", diff)
			}
		})
	}
}
