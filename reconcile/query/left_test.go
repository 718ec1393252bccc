package query

import (
	"testing"
	"time"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile/plan"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/gateway"
)

// What is left of a budget is said in words, with what happens when nothing is; what is used up is 0, not absent.
func TestWhatIsLeftOfABudget(t *testing.T) {
	spent := store.Spent{USD: 4, Input: 60, Output: 20}
	for name, tt := range map[string]struct {
		run  *plan.Run
		says string
	}{
		"no run":    {nil, ""},
		"no limit":  {&plan.Run{}, ""},
		"dollars":   {&plan.Run{Total: gateway.Budget{USD: 10}}, "Of its budget 6.00 USD are left; trials that have not begun are cancelled when it is used up."},
		"used up":   {&plan.Run{Total: gateway.Budget{USD: 3}, AtLimit: config.AtLimitHold}, "Of its budget 0.00 USD are left; trials that have not begun wait, when it is used up, until budget.total in its file is raised."},
		"both kind": {&plan.Run{Total: gateway.Budget{USD: 10, Tokens: 100}}, "Of its budget 6.00 USD and 20 tokens are left; trials that have not begun are cancelled when it is used up."},
	} {
		left, atLimit := leftOf(tt.run, spent)
		says := ""
		for _, f := range Explain(Standing{State: "running", Execution: 1, Wanted: 2, Left: left, AtLimit: atLimit}, time.Now())[1:] {
			says += f.Text
		}
		if says != tt.says || (left != nil) != (tt.says != "") {
			t.Errorf("%s: %q, want %q", name, says, tt.says)
		}
	}
}
