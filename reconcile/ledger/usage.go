package ledger

import (
	"context"
	"sync"

	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/gateway"
)

// UsageLedger keeps in the store what agents spend on models. It implements gateway.Ledger. Entries that are made at the same time
// are made in one transaction: each of these waits for the disk, and two hundred streams would
// wait for each other.
type UsageLedger struct {
	store *store.Store

	mu      sync.Mutex
	writing bool     // somebody writes, and will have the next one write what waits then
	waiting []*entry // what came in the meantime
}

// entry is one change of the ledger, and where its outcome is told.
type entry struct {
	make func(*store.Tx) error
	done chan error
	turn chan []*entry // or it is to write all of these, itself among them
}

// NewUsageLedger returns the usage ledger of a store.
func NewUsageLedger(s *store.Store) *UsageLedger { return &UsageLedger{store: s} }

// Begin implements gateway.Ledger.
func (b *UsageLedger) Begin(ctx context.Context, c gateway.Charge) (id int64, err error) {
	err = b.enter(ctx, func(tx *store.Tx) (err error) {
		id, err = tx.InsertExchange(exchangeRow(c))
		return err
	})
	return id, err
}

// End implements gateway.Ledger.
func (b *UsageLedger) End(ctx context.Context, id int64, c gateway.Charge) error {
	return b.enter(ctx, func(tx *store.Tx) error { return tx.UpdateExchange(id, exchangeRow(c)) })
}

// enter makes an entry, which is durable when it returns. It waits for the store, whatever
// becomes of the context meanwhile.
func (b *UsageLedger) enter(ctx context.Context, change func(*store.Tx) error) error {
	e := &entry{make: change, done: make(chan error, 1), turn: make(chan []*entry, 1)}
	b.mu.Lock()
	if b.writing {
		b.waiting = append(b.waiting, e)
		b.mu.Unlock()
		select {
		case err := <-e.done:
			return err
		case together := <-e.turn:
			return b.write(ctx, together)
		}
	}
	b.writing = true
	b.mu.Unlock()
	return b.write(ctx, []*entry{e})
}

// write makes entries together, or each by itself where that fails, and returns what came of
// the first. Then it is the turn of one of those that have come since.
func (b *UsageLedger) write(ctx context.Context, together []*entry) error {
	ctx = context.WithoutCancel(ctx) // it is not for the first alone
	err := b.store.Do(ctx, func(tx *store.Tx) error {
		for _, e := range together {
			if err := e.make(tx); err != nil {
				return err
			}
		}
		return nil
	})
	for _, e := range together {
		alone := err
		if err != nil && len(together) > 1 {
			alone = b.store.Do(ctx, e.make)
		}
		e.done <- alone
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.writing = len(b.waiting) > 0; b.writing {
		b.waiting[0].turn <- b.waiting
		b.waiting = nil
	}
	return <-together[0].done
}

// Spent implements gateway.Ledger.
func (b *UsageLedger) Spent(ctx context.Context, a gateway.Account) (gateway.Usage, error) {
	var s store.Spent
	err := b.store.View(ctx, func(tx *store.Tx) (err error) {
		if a.Trial == "" {
			s, err = tx.SpentByExecution(a.Spec, a.Execution)
			return err
		}
		s, err = tx.SpentByTry(a.Spec, a.Execution, a.Trial, a.Try)
		return err
	})
	return UsageOf(s), err
}

// UsageOf is what was spent as the gateway counts it.
func UsageOf(s store.Spent) gateway.Usage {
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
