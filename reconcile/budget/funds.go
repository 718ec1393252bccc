package budget

import (
	"errors"

	"github.com/assayd/assayd/reconcile/history"
	"github.com/assayd/assayd/reconcile/ledger"
	"github.com/assayd/assayd/reconcile/plan"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/gateway"
)

// Funds is what the total of a run leaves in an execution, at of whose trials agents are at work that ask models. What
// each of them may still spend is reserved for it; it is looked up only where that decides.
func Funds(tx *store.Tx, d *plan.Run, address string, execution int, at []plan.Trial) (f plan.Funds, err error) {
	if d == nil || d.Total == (gateway.Budget{}) {
		return f, nil
	}
	row, err := tx.SpentByExecution(address, execution)
	if err != nil {
		return f, err
	}
	spent := ledger.UsageOf(row)
	if !d.Reserves() || len(at) == 0 {
		return d.FundsOf(spent, gateway.Usage{}), nil
	}
	most := gateway.Usage{CostUSD: d.Each.USD * float64(len(at)), InputTokens: d.Each.Tokens * int64(len(at))}
	if f = d.FundsOf(spent, most); f.Trials >= d.Parallel-len(at) {
		return f, nil
	}
	reserved := gateway.Usage{}
	for _, t := range at {
		left, err := leftOf(tx, d, address, execution, t)
		if err != nil {
			return f, err
		}
		reserved.Add(left)
	}
	return d.FundsOf(spent, reserved), nil
}

// leftOf is what a trial at work may still spend; nothing once its agent is over.
func leftOf(tx *store.Tx, d *plan.Run, address string, execution int, t plan.Trial) (left gateway.Usage, err error) {
	switch cell, err := tx.Cell(t.ID); {
	case err == nil && (cell.State == history.StateJudging || cell.Control):
		return left, nil
	case err != nil && !errors.Is(err, store.ErrNotFound):
		return left, err
	}
	row, err := tx.SpentByTry(address, execution, t.ID, t.Try)
	if err != nil {
		return left, err
	}
	spent := ledger.UsageOf(row)
	return gateway.Usage{CostUSD: max(d.Each.USD-spent.CostUSD, 0), InputTokens: max(d.Each.Tokens-spent.Tokens(), 0)}, nil
}
