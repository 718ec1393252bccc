package plan

import (
	"testing"
	"time"

	"github.com/assayd/assayd/runtime/gateway"
	"github.com/assayd/assayd/runtime/trial"
)

// TestARaisedBudgetGoesOnWithWhatIsNotDone: trials that could not be paid for begin, and nothing that
// is done begins again.
func TestARaisedBudgetGoesOnWithWhatIsNotDone(t *testing.T) {
	budget := func(usd float64) gateway.Budget { return gateway.Budget{USD: usd} }
	for name, tt := range map[string]struct {
		status trial.Status
		reason string
		now    gateway.Budget
		want   bool
	}{
		"raised":                      {trial.Cancelled, gateway.OverUSD, budget(2), true},
		"removed":                     {trial.Cancelled, gateway.OverUSD, gateway.Budget{}, true},
		"as it was":                   {trial.Cancelled, gateway.OverUSD, budget(1), false},
		"lowered":                     {trial.Cancelled, gateway.OverUSD, budget(0.5), false},
		"tokens, which were no limit": {trial.Cancelled, gateway.OverTokens, budget(2), false},
		"cancelled by a user":         {trial.Cancelled, trial.ReasonCancelled, budget(2), false},
		"judged when it was used up":  {trial.Unresolved, gateway.OverUSD, budget(2), false},
		"solved":                      {trial.Resolved, trial.ReasonAgentExit, budget(2), false},
	} {
		s := trial.State{Cell: trial.Cell{Total: budget(1)}, Result: &trial.Finished{Status: tt.status, Reason: tt.reason, Final: true}}
		if got := Funded(s, tt.now); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}

	cell := Cell{Key: "k1000000"}
	done := Cell{Key: "k2000000"}
	d := &Run{Name: "r", cells: cellsOf([]Cell{cell, done}), Parallel: 1, Total: budget(2)}
	o := Observed{Execution: &Execution{N: 1, Finished: true, Settled: true}, Trials: []Trial{
		{ID: "r.e1.k1", Key: "k1000000", Try: 1, Status: trial.Cancelled, Final: true, Funded: true},
		{ID: "r.e1.k2", Key: "k2000000", Try: 1, Status: trial.Resolved, Final: true},
	}}
	plan := Diff("run.r", d, o, time.Now())
	if len(plan.Actions) != 1 || plan.Actions[0].Kind != StartTrial || plan.Actions[0].Cell.Key != "k1000000" || plan.Actions[0].Try != 2 || plan.Actions[0].Cause != "the budget of the run was raised" {
		t.Errorf("%s", plan.String())
	}
}
