package summaries

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/assayd/assayd/reconcile/history"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/reconcile/summary"
	"github.com/assayd/assayd/runtime/clock"
)

// amount is what is kept of an execution: its summary or its report.
type amount struct {
	Execution
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

// Many is from how many outcomes on a summary may take long.
const Many = 100

const (
	summaryRatio = 20 // what is kept is made again after so many times what it took
	manyWanted   = 64 // summaries that wait to be made; who asks for another one asks again
)

// Want has a summary made, soon. Where many wait already it does nothing: the caller asks again.
func (k *Summaries) Want(of Execution) {
	select {
	case k.wanted <- of:
	default:
	}
}

// Rests reports whether the kept summary will do for a while, because it took long to make.
func (k *Summaries) Rests(of Execution) bool { return k.rests(amount{of, kindSummary}) }

// rests reports whether what is kept will do for a while, because it took long.
func (k *Summaries) rests(a amount) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return time.Now().Before(k.rest[a])
}

func (k *Summaries) took(a amount, d time.Duration) {
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
func (k *Summaries) Summary(ctx context.Context, of Execution) (s summary.Summary, trials int, err error) {
	m, err := k.summary(ctx, of)
	return m.value, m.trials, err
}

// summary makes the summary of an execution.
func (k *Summaries) summary(ctx context.Context, of Execution) (made[summary.Summary], error) {
	return amountTo(ctx, k, amount{of, kindSummary}, func(d summary.Execution) summary.Summary { return summary.Summarize(d.Outcomes) })
}

// report is the report on an execution: the one that is kept if nothing has changed since, or if it
// is a while old only and took long, or else a new one.
func (k *Summaries) report(ctx context.Context, of Execution) (summary.Report, error) {
	a := amount{of, kindReport}
	var open int
	var last *made[summary.Report]
	var fresh, filled bool
	if err := k.store.View(ctx, func(tx *store.Tx) error {
		counts, err := tx.CellCounts(of.Address, of.N)
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
	if last != nil && (fresh || last.trials > Many && k.rests(a)) {
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
func amountTo[T any](ctx context.Context, k *Summaries, a amount, of func(summary.Execution) T) (m made[T], err error) {
	select {
	case k.turn <- struct{}{}:
		defer func() { <-k.turn }()
	case <-ctx.Done():
		return m, context.Cause(ctx)
	}
	began, row := time.Now(), store.SummaryRow{Made: clock.Now().UTC()}
	d := summary.Execution{Address: a.Address, N: a.N}
	var last *made[T]
	var fresh, filled bool
	if err := k.store.View(ctx, func(tx *store.Tx) error {
		counts, err := tx.CellCounts(a.Address, a.N)
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
		d.Outcomes, d.Open, err = history.Outcomes(tx, a.Address, a.N)
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
		return m, fmt.Errorf("encode the %s of %s e%d: %w", a.kind, a.Address, a.N, err)
	}
	if err := k.store.Do(ctx, func(tx *store.Tx) error { return tx.PutSummary(a.Address, a.N, a.kind, row) }); err != nil {
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

// Kept is the summary that is stored of an execution.
type Kept struct {
	Summary summary.Summary
	Made    time.Time
}

// KeptOf is the summary that is stored of an execution with these counts of cells, nil if there is none, and whether
// nothing has changed since.
func KeptOf(tx *store.Tx, of Execution, counts []store.CountRow) (*Kept, bool, error) {
	m, fresh, err := kept[summary.Summary](tx, amount{of, kindSummary}, counts)
	if m == nil {
		return nil, fresh, err
	}
	return &Kept{m.value, m.at}, fresh, err
}

// Ended is how many cells have an outcome, by their counts.
func Ended(counts []store.CountRow) int {
	cells, _ := over(counts)
	return cells
}

// kept is what is stored of an execution with these counts, nil if there is none, and whether nothing
// has changed since.
func kept[T any](tx *store.Tx, a amount, counts []store.CountRow) (*made[T], bool, error) {
	filled, err := history.AllFilled(tx)
	if err != nil || !filled {
		return nil, false, err
	}
	row, err := tx.Summary(a.Address, a.N, a.kind)
	if errors.Is(err, store.ErrNotFound) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	m := made[T]{trials: row.Cells, at: row.Made}
	if err := json.Unmarshal(row.Data, &m.value); err != nil {
		return nil, false, fmt.Errorf("read the %s of %s e%d: %w", a.kind, a.Address, a.N, err)
	}
	cells, n := over(counts)
	return &m, row.Cells == cells && row.N == n, nil
}
