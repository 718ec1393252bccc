package query

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile/plan"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/gateway"
)

// Left is what is left of a budget, 0 = it is used up; nil = it has no such limit.
type Left struct {
	USD    *float64 `json:"usd,omitempty"`
	Tokens *int64   `json:"tokens,omitempty"`
}

// leftOf is what is left of the total of a run after what an execution has spent, and what happens at its limit; nil
// and "" for a run without one.
func leftOf(d *plan.Run, spent store.Spent) (l *Left, atLimit string) {
	if d == nil || d.Total == (gateway.Budget{}) {
		return nil, ""
	}
	l = &Left{}
	if d.Total.USD > 0 {
		usd := max(d.Total.USD-spent.USD, 0)
		l.USD = &usd
	}
	if d.Total.Tokens > 0 {
		tokens := max(d.Total.Tokens-spent.Input-spent.Output, 0)
		l.Tokens = &tokens
	}
	return l, cmp.Or(d.AtLimit, config.AtLimitEnd)
}

// String is as "2.5 USD and 100 tokens".
func (l *Left) String() string {
	var all []string
	if l.USD != nil {
		all = append(all, fmt.Sprintf("%.2f USD", *l.USD))
	}
	if l.Tokens != nil {
		all = append(all, fmt.Sprintf("%d tokens", *l.Tokens))
	}
	return strings.Join(all, " and ")
}
