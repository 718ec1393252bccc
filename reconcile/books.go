package reconcile

import (
	"context"

	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/gateway"
)

// Books keep in the store what agents spend on models.
type Books struct{ store *store.Store }

// NewBooks returns the books of a store.
func NewBooks(s *store.Store) *Books { return &Books{s} }

// Begin implements gateway.Ledger.
func (b *Books) Begin(ctx context.Context, c gateway.Charge) (id int64, err error) {
	err = b.store.Do(ctx, func(tx *store.Tx) error {
		id, err = tx.InsertExchange(exchangeRow(c))
		return err
	})
	return id, err
}

// End implements gateway.Ledger.
func (b *Books) End(ctx context.Context, id int64, c gateway.Charge) error {
	return b.store.Do(ctx, func(tx *store.Tx) error { return tx.UpdateExchange(id, exchangeRow(c)) })
}

// Spent implements gateway.Ledger.
func (b *Books) Spent(ctx context.Context, a gateway.Account) (gateway.Usage, error) {
	var s store.Spent
	err := b.store.View(ctx, func(tx *store.Tx) (err error) {
		if a.Trial == "" {
			s, err = tx.SpentByExecution(a.Spec, a.Execution)
			return err
		}
		s, err = tx.SpentByTry(a.Trial, a.Try)
		return err
	})
	return usageOf(s), err
}

func usageOf(s store.Spent) gateway.Usage {
	return gateway.Usage{
		InputTokens: s.Input, OutputTokens: s.Output, CachedTokens: s.Cached, EstimatedTokens: s.Estimated,
		Requests: s.Exchanges, CostUSD: s.USD,
	}
}

func exchangeRow(c gateway.Charge) store.ExchangeRow {
	u := c.Usage
	return store.ExchangeRow{
		Spec: c.Spec, Execution: c.Execution, Trial: c.Trial, Try: c.Try, Provider: c.Provider, Model: c.Model,
		Input: u.InputTokens, Output: u.OutputTokens, Cached: u.CachedTokens, Estimated: u.EstimatedTokens, USD: u.CostUSD,
	}
}
