package query

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/assayd/assayd/reconcile/history"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/reconcile/summary"
	"github.com/assayd/assayd/runtime/clock"
)

// summaries makes what executions amount to, one at a time, and keeps it in the store: for thousands
// of trials that takes seconds, and is asked for twice a second. It may be used by any goroutine.
type summaries struct {
	store  *store.Store
	idle   bool          // the store is open for reading only: nothing is kept
	turn   chan struct{} // held by who makes one
	wanted chan doneOf

	mu   sync.Mutex
	rest map[amount]time.Time // until when what is kept will do
}

// doneOf names an execution.
type doneOf struct {
	address string
	n       int
}

// amount is what is kept of an execution: its summary or its report.
type amount struct {
	doneOf
	kind string
}

// Kinds of amounts. The number rises when the same trials come to other figures, or to figures in another
// form: what an earlier version kept is made again then.
const (
	kindSummary = "summary.2"
	kindReport  = "report.2"
)

// errNotKept says that figures were made and could not be stored.
var errNotKept = errors.New("it could not be kept")

const (
	summaryRatio = 20  // what is kept is made again after so many times what it took
	manyOutcomes = 100 // from how many on a summary may take long
	manyWanted   = 64  // summaries that wait to be made; who asks for another one asks again
)

func newSummaries(s *store.Store, idle bool) *summaries {
	return &summaries{store: s, idle: idle, turn: make(chan struct{}, 1), wanted: make(chan doneOf, manyWanted), rest: map[amount]time.Time{}}
}

// run makes the summaries that are wanted until the context ends.
func (k *summaries) run(ctx context.Context, failed func(address string, err error)) {
	for {
		select {
		case of := <-k.wanted:
			if k.rests(amount{of, kindSummary}) {
				continue
			}
			if _, err := k.summary(ctx, of); err != nil && ctx.Err() == nil {
				failed(of.address, err)
			}
		case <-ctx.Done():
			return
		}
	}
}

// want has a summary made, soon.
func (k *summaries) want(of doneOf) {
	select {
	case k.wanted <- of:
	default:
	}
}

// rests reports whether what is kept will do for a while, because it took long.
func (k *summaries) rests(a amount) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return time.Now().Before(k.rest[a])
}

func (k *summaries) took(a amount, d time.Duration) {
	now := time.Now()
	k.mu.Lock()
	defer k.mu.Unlock()
	for other, until := range k.rest {
		if until.Before(now) {
			delete(k.rest, other)
		}
	}
	k.rest[a] = now.Add(summaryRatio * d)
}

// Summary makes the summary of an execution, unless it is kept, and tells of how many trials.
func (r *Reader) Summary(ctx context.Context, address string, n int) (s summary.Summary, trials int, err error) {
	m, err := r.summaries.summary(ctx, doneOf{address, n})
	return m.value, m.trials, err
}

// summary makes the summary of an execution.
func (k *summaries) summary(ctx context.Context, of doneOf) (made[summary.Summary], error) {
	return amountTo(ctx, k, amount{of, kindSummary}, func(d summary.Execution) summary.Summary { return summary.Summarize(d.Outcomes) })
}

// report is the report on an execution: the one that is kept if nothing has changed since, or if it
// is a while old only and took long, or else a new one.
func (k *summaries) report(ctx context.Context, of doneOf) (summary.Report, error) {
	a := amount{of, kindReport}
	var open int
	var last *made[summary.Report]
	var fresh, filled bool
	if err := k.store.View(ctx, func(tx *store.Tx) error {
		counts, err := tx.CellCounts(of.address, of.n)
		if err != nil {
			return err
		}
		if filled, err = history.AllFilled(tx); err != nil {
			return err
		}
		open = working(counts)
		last, fresh, err = kept[summary.Report](tx, a, counts)
		return err
	}); err != nil {
		return summary.Report{}, err
	}
	if last != nil && (fresh || last.trials > manyOutcomes && k.rests(a)) {
		last.value.Open = open
		if !fresh {
			last.value.AsOf = last.at
		}
		return last.value, nil
	}
	m, err := amountTo(ctx, k, a, summary.Execution.Report)
	if filled {
		m.value.Open = open
	}
	if errors.Is(err, errNotKept) { // on a full disk people read reports, too
		err = nil
	}
	return m.value, err
}

// made is an amount of the trials that are over and not superseded.
type made[T any] struct {
	value  T
	trials int
	at     time.Time
}

// amountTo makes an amount and keeps it. Who waits for another one that makes the same gets that. With
// errNotKept the amount is good.
func amountTo[T any](ctx context.Context, k *summaries, a amount, of func(summary.Execution) T) (m made[T], err error) {
	select {
	case k.turn <- struct{}{}:
		defer func() { <-k.turn }()
	case <-ctx.Done():
		return m, context.Cause(ctx)
	}
	began, row := time.Now(), store.SummaryRow{Made: clock.Now().UTC()}
	d := summary.Execution{Address: a.address, N: a.n}
	var last *made[T]
	var fresh, filled bool
	if err := k.store.View(ctx, func(tx *store.Tx) error {
		counts, err := tx.CellCounts(a.address, a.n)
		if err != nil {
			return err
		}
		row.Cells, row.N = over(counts)
		if filled, err = history.AllFilled(tx); err != nil {
			return err
		}
		if last, fresh, err = kept[T](tx, a, counts); err != nil || fresh {
			return err
		}
		d.Outcomes, d.Open, err = history.Outcomes(tx, a.address, a.n)
		return err
	}); err != nil {
		return m, err
	}
	if fresh {
		return *last, nil
	}
	m = made[T]{of(d), len(d.Outcomes), row.Made}
	k.took(a, time.Since(began))
	if k.idle || !filled {
		return m, nil
	}
	if row.Data, err = json.Marshal(m.value); err != nil {
		return m, fmt.Errorf("encode the %s of %s e%d: %w", a.kind, a.address, a.n, err)
	}
	if err := k.store.Do(ctx, func(tx *store.Tx) error { return tx.PutSummary(a.address, a.n, a.kind, row) }); err != nil {
		return m, fmt.Errorf("%w: %w", errNotKept, err)
	}
	return m, nil
}

// over is how many cells have an outcome, and the number of the last change of one that has, or had.
func over(counts []store.CountRow) (cells int, n int64) {
	for _, c := range counts {
		switch c.State {
		case history.StateSetup, history.StateWorking, history.StateJudging:
			continue
		case history.StateSuperseded:
		default:
			cells += c.Cells
		}
		n = max(n, c.N)
	}
	return cells, n
}

// working is how many cells have no outcome yet.
func working(counts []store.CountRow) (cells int) {
	for _, c := range counts {
		switch c.State {
		case history.StateSetup, history.StateWorking, history.StateJudging:
			cells += c.Cells
		}
	}
	return cells
}

// kept is what is stored of an execution with these counts, nil if there is none, and whether nothing
// has changed since.
func kept[T any](tx *store.Tx, a amount, counts []store.CountRow) (*made[T], bool, error) {
	filled, err := history.AllFilled(tx)
	if err != nil || !filled {
		return nil, false, err
	}
	row, err := tx.Summary(a.address, a.n, a.kind)
	if errors.Is(err, store.ErrNotFound) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	m := made[T]{trials: row.Cells, at: row.Made}
	if err := json.Unmarshal(row.Data, &m.value); err != nil {
		return nil, false, fmt.Errorf("read the %s of %s e%d: %w", a.kind, a.address, a.n, err)
	}
	cells, n := over(counts)
	return &m, row.Cells == cells && row.N == n, nil
}
