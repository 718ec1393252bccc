package reconcile

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/clock"
)

// summaries makes what executions amount to, one at a time, and keeps it in the store: that of
// thousands of trials takes seconds, and is asked for twice a second.
type summaries struct {
	store  *store.Store
	turn   chan struct{} // held by who makes one
	wanted chan doneOf
}

// doneOf names an execution.
type doneOf struct {
	address string
	n       int
}

const (
	summaryRatio = 20  // a kept summary is made again after so many times what it took
	manyOutcomes = 100 // from how many on a summary may take long
	manyWanted   = 64  // summaries that wait to be made; who asks for another one asks again
)

func newSummaries(s *store.Store) *summaries {
	return &summaries{store: s, turn: make(chan struct{}, 1), wanted: make(chan doneOf, manyWanted)}
}

// run makes the summaries that are wanted until the context ends.
func (k *summaries) run(ctx context.Context, failed func(address string, err error)) {
	rest := map[doneOf]time.Time{} // until when a kept one will do
	for {
		var of doneOf
		select {
		case of = <-k.wanted:
		case <-ctx.Done():
			return
		}
		began := time.Now()
		for other, until := range rest {
			if until.Before(began) {
				delete(rest, other)
			}
		}
		if _, waits := rest[of]; waits {
			continue
		}
		if _, err := k.make(ctx, of); err != nil && ctx.Err() == nil {
			failed(of.address, err)
		}
		rest[of] = time.Now().Add(summaryRatio * time.Since(began))
	}
}

// want has a summary made, soon.
func (k *summaries) want(of doneOf) {
	select {
	case k.wanted <- of:
	default:
	}
}

// madeSummary is the summary of an execution's trials that are over and not superseded.
type madeSummary struct {
	Summary
	trials int
	at     time.Time
}

// make makes a summary and stores it.
func (k *summaries) make(ctx context.Context, of doneOf) (m madeSummary, err error) {
	select {
	case k.turn <- struct{}{}:
		defer func() { <-k.turn }()
	case <-ctx.Done():
		return m, context.Cause(ctx)
	}
	var outcomes []Outcome
	row := store.SummaryRow{Made: clock.Now().UTC()}
	if err := k.store.View(ctx, func(tx *store.Tx) error {
		counts, err := tx.CellCounts(of.address, of.n)
		if err != nil {
			return err
		}
		row.Cells, row.N = over(counts)
		outcomes, _, err = outcomesOf(tx, of.address, of.n)
		return err
	}); err != nil {
		return m, err
	}
	m = madeSummary{Summarize(outcomes), len(outcomes), row.Made}
	if row.Data, err = json.Marshal(m.Summary); err != nil {
		return m, fmt.Errorf("encode the summary of %s e%d: %w", of.address, of.n, err)
	}
	return m, k.store.Do(ctx, func(tx *store.Tx) error { return tx.PutSummary(of.address, of.n, row) })
}

// over is how many cells have an outcome, and the number of the last change of one that has, or had.
func over(counts []store.CountRow) (cells int, n int64) {
	for _, c := range counts {
		switch c.State {
		case StateSetup, StateWorking, StateJudging:
			continue
		case StateSuperseded:
		default:
			cells += c.Cells
		}
		n = max(n, c.N)
	}
	return cells, n
}

// kept is the stored summary of an execution with these counts, nil if there is none, and whether
// nothing has changed since.
func kept(tx *store.Tx, of doneOf, counts []store.CountRow) (*madeSummary, bool, error) {
	row, err := tx.Summary(of.address, of.n)
	if errors.Is(err, store.ErrNotFound) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	m := madeSummary{trials: row.Cells, at: row.Made}
	if err := json.Unmarshal(row.Data, &m.Summary); err != nil {
		return nil, false, fmt.Errorf("read the summary of %s e%d: %w", of.address, of.n, err)
	}
	cells, n := over(counts)
	return &m, row.Cells == cells && row.N == n, nil
}
