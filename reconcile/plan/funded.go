package plan

import (
	"github.com/assayd/assayd/runtime/gateway"
	"github.com/assayd/assayd/runtime/trial"
)

// Funded reports whether a trial was cancelled because its run had nothing left to spend, and the
// run may spend more now than the trial knew of.
func Funded(s trial.State, total gateway.Budget) bool {
	if s.Result == nil || s.Result.Status != trial.Cancelled {
		return false
	}
	before := s.Cell.Total
	switch s.Result.Reason {
	case gateway.OverUSD:
		return before.USD > 0 && (total.USD == 0 || total.USD > before.USD)
	case gateway.OverTokens:
		return before.Tokens > 0 && (total.Tokens == 0 || total.Tokens > before.Tokens)
	}
	return false
}
