package store

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// spender is a store whose time the test sets, and in which exchanges are made.
type spender struct {
	*Store
	t   *testing.T
	now time.Time
}

func newSpender(t *testing.T) *spender {
	s := &spender{t: t, now: time.Date(2030, 5, 3, 10, 30, 20, 0, time.UTC)}
	s.Store = open(t, t.TempDir(), Options{Clock: func() time.Time { return s.now }})
	return s
}

func (s *spender) spend(x ExchangeRow) (id int64) {
	s.t.Helper()
	do(s.t, s.Store, func(tx *Tx) (err error) {
		id, err = tx.InsertExchange(x)
		return err
	})
	return id
}

func (s *spender) since(d time.Duration, limit int) (rows []SpendingRow, usd float64) {
	s.t.Helper()
	do(s.t, s.Store, func(tx *Tx) (err error) {
		rows, usd, err = tx.SpendingSince(s.now.Add(-d), limit)
		return err
	})
	return rows, usd
}

func TestSpendingIsBySpecProviderAndModel(t *testing.T) {
	s := newSpender(t)
	x := ExchangeRow{Spec: "run.r", Execution: 1, Trial: "r.e1.1", Try: 1, Provider: "p", Model: "m", Input: 100, Output: 10, USD: 0.5}
	id := s.spend(x)
	other := x
	other.Model, other.USD = "n", 2
	s.spend(other)
	s.now = s.now.Add(59 * time.Minute)
	x.Input, x.USD = 40, 0.25 // it took less than was booked
	do(t, s.Store, func(tx *Tx) error { return tx.UpdateExchange(id, ExchangeRow{Input: 40, Output: 10, USD: 0.25}) })
	s.spend(ExchangeRow{Spec: "mining.k", Provider: "q", Model: "m", Output: 7, USD: 1})
	want := []SpendingRow{
		{"run.r", "p", "n", 100, 10, 2},
		{"mining.k", "q", "m", 0, 7, 1},
		{"run.r", "p", "m", 40, 10, 0.25},
	}
	rows, usd := s.since(time.Hour, 10)
	if diff := cmp.Diff(want, rows); diff != "" || usd != 3.25 {
		t.Errorf("%v dollars; (-want +got):\n%s", usd, diff)
	}
	if rows, usd = s.since(time.Hour, 2); len(rows) != 2 || usd != 3.25 {
		t.Errorf("of two lines: %v, %v", rows, usd)
	}
	s.now = s.now.Add(2 * time.Minute) // the first minute is more than an hour ago
	if rows, usd = s.since(time.Hour, 10); usd != 0.75 || len(rows) != 2 || rows[1].USD != -0.25 {
		t.Errorf("an hour later: %v, %v", rows, usd)
	}
}

// Sums do not change when minutes are rolled up, and there are no more rows than those of two to three hours by the
// minute, and of 90 days by the hour.
func TestSpendingIsRolledUp(t *testing.T) {
	s := newSpender(t)
	begin, total := s.now, 0.0
	for i := range 60 * 30 {
		if i == 60*20 {
			s.rolledUp.Store(0) // another process goes on
		}
		s.spend(ExchangeRow{Spec: "run.r", Execution: 1, Provider: "p", Model: "m", Input: 1, USD: 0.001})
		total++
		s.now = s.now.Add(time.Minute)
	}
	rows := func() (n int) {
		do(t, s.Store, func(tx *Tx) (err error) { n, err = one(tx, scanInt, "SELECT count(*) FROM spending"); return err })
		return n
	}
	if n := rows(); n > 3*60+31 {
		t.Errorf("there are %d rows", n)
	}
	if got, _ := s.since(s.now.Sub(begin), 1); got[0].Input != int64(total) {
		t.Errorf("%v tokens of %v are known", got[0].Input, total)
	}
	hours := read(t, s.Store, func(tx *Tx) ([]HourRow, error) { return tx.SpendingByHour(begin) })
	sum := 0.0
	for i, h := range hours {
		if want := begin.Truncate(time.Hour).Add(time.Duration(i) * time.Hour); !h.Begin.Equal(want) {
			t.Errorf("hour %d begins at %s, want %s", i, h.Begin, want)
		}
		sum += h.USD
	}
	if len(hours) != 31 || fmt.Sprintf("%.3f", sum) != "1.800" {
		t.Errorf("%d hours cost %v", len(hours), sum)
	}
	s.now = s.now.AddDate(0, 0, 100)
	s.spend(ExchangeRow{Spec: "run.r", Execution: 1, Provider: "p", Model: "m", USD: 1})
	if n := rows(); n != 1 {
		t.Errorf("100 days later there are %d rows", n)
	}
}

// An agent that names another model in each request fills nothing: the rows have a bound, and the sums stay.
func TestNamesOfModelsFillNothing(t *testing.T) {
	s := newSpender(t)
	begin := s.now
	for hour := range 3 {
		for i := range 200 {
			s.spend(ExchangeRow{Spec: "run.r", Execution: 1, Provider: "p", Model: fmt.Sprintf("m%d-%d", hour, i), Input: 1})
			s.spend(ExchangeRow{Spec: "run.quiet", Execution: 1, Provider: "p", Model: "m", Input: 1})
		}
		s.now = s.now.Add(time.Hour)
	}
	do(t, s.Store, func(tx *Tx) error {
		n, err := one(tx, scanInt, "SELECT count(*) FROM spending")
		if most := 3 * (modelsKept + 2); n > most {
			t.Errorf("there are %d rows, and may be %d", n, most)
		}
		return err
	})
	tokens := map[string]int64{}
	rows, _ := s.since(s.now.Sub(begin), 1000)
	for _, x := range rows {
		tokens[x.Spec] += x.Input
	}
	if tokens["run.r"] != 600 || tokens["run.quiet"] != 600 {
		t.Errorf("the rows come to %v", tokens)
	}
}

func TestTheDearestTrialsAreThoseAtWork(t *testing.T) {
	s := newSpender(t)
	do(t, s.Store, func(tx *Tx) error {
		for _, e := range []ExecutionRow{{Spec: "run.r", N: 1}, {Spec: "run.r", N: 2, StartedAt: s.now}, {Spec: "run.o", N: 1, FinishedAt: s.now}} {
			if err := tx.PutExecution(e); err != nil {
				return err
			}
		}
		for _, c := range []CellRow{
			{Trial: "cheap", Spec: "run.r", Execution: 2, State: "working"},
			{Trial: "dear", Spec: "run.r", Execution: 2, State: "judging", Task: "t", Agent: "a", Model: "m"},
			{Trial: "free", Spec: "run.r", Execution: 2, State: "working"},
			{Trial: "over", Spec: "run.r", Execution: 2, State: "resolved"},
			{Trial: "old", Spec: "run.o", Execution: 1, State: "working"},
		} {
			if err := tx.PutTrial(TrialRow{ID: c.Trial, Spec: c.Spec, Execution: c.Execution, Cell: "k" + c.Trial, Try: 1}); err != nil {
				return err
			}
			c.Key, c.Try = "k"+c.Trial, 1
			if err := tx.PutCell(c); err != nil {
				return err
			}
		}
		return nil
	})
	for trial, usd := range map[string]float64{"cheap": 1, "dear": 2, "over": 9} {
		s.spend(ExchangeRow{Spec: "run.r", Execution: 2, Trial: trial, Try: 1, USD: usd})
	}
	s.spend(ExchangeRow{Spec: "run.r", Execution: 2, Trial: "dear", Try: 2, USD: 3})
	s.spend(ExchangeRow{Spec: "run.o", Execution: 1, Trial: "old", Try: 1, USD: 7})
	got := read(t, s.Store, func(tx *Tx) ([]DearRow, error) { return tx.DearestTrials(10) })
	want := []DearRow{
		{Trial: "dear", Spec: "run.r", Execution: 2, Task: "t", Agent: "a", Model: "m", State: "judging", USD: 5},
		{Trial: "cheap", Spec: "run.r", Execution: 2, State: "working", USD: 1},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
