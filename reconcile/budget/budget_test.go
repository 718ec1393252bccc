package budget_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile/budget"
	"github.com/assayd/assayd/reconcile/plan"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/gateway"
	"github.com/assayd/assayd/runtime/trial"
)

// clocked is a store whose time the test sets.
func clocked(t *testing.T, now *time.Time) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), t.TempDir(), store.Options{Clock: func() time.Time { return *now }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// in has a transaction done.
func in(t *testing.T, s *store.Store, do func(tx *store.Tx) error) {
	t.Helper()
	if err := s.Do(t.Context(), do); err != nil {
		t.Fatal(err)
	}
}

// Days and months are those of UTC, whatever the zone of the clock is; what an exchange costs in the end counts for
// the day on which that is known.
func TestPeriodsCountByUTC(t *testing.T) {
	east := time.FixedZone("east", 5*3600)
	now := time.Date(2030, 5, 31, 23, 0, 0, 0, time.UTC)
	s := clocked(t, &now)
	spend := func(usd float64) (id int64) {
		in(t, s, func(tx *store.Tx) (err error) {
			id, err = tx.InsertExchange(store.ExchangeRow{Spec: "run.r", Execution: 1, USD: usd})
			return err
		})
		return id
	}
	limits := config.HostBudget{DayUSD: 5, MonthUSD: 20}
	var got []budget.Period
	read := func() {
		in(t, s, func(tx *store.Tx) (err error) { got, err = budget.Periods(tx, limits, now); return err })
	}
	spend(3)
	booked := spend(1.5)
	read()
	june := time.Date(2030, 6, 1, 0, 0, 0, 0, time.UTC)
	if diff := cmp.Diff([]budget.Period{{"day", 5, 4.5, 0.5, june}, {"month", 20, 4.5, 15.5, june}}, got); diff != "" {
		t.Errorf("on the last of May (-want +got):\n%s", diff)
	}
	now = time.Date(2030, 6, 1, 6, 0, 0, 0, east) // an hour after midnight
	in(t, s, func(tx *store.Tx) error {
		return tx.UpdateExchange(booked, store.ExchangeRow{Spec: "run.r", Execution: 1, USD: 2})
	})
	read()
	second, july := june.AddDate(0, 0, 1), june.AddDate(0, 1, 0)
	if diff := cmp.Diff([]budget.Period{{"day", 5, 0.5, 4.5, second}, {"month", 20, 0.5, 19.5, july}}, got); diff != "" {
		t.Errorf("on the first of June (-want +got):\n%s", diff)
	}
	now = now.AddDate(0, 0, 1)
	spend(6)
	read()
	if got[0].SpentUSD != 6 || got[0].LeftUSD != 0 || got[1].SpentUSD != 6.5 {
		t.Errorf("on the second of June: %+v", got)
	}
	limits.DayUSD = 0
	if read(); len(got) != 1 || got[0].Period != "month" {
		t.Errorf("without a limit of a day: %+v", got)
	}
}

// The days that are kept do not grow with history, and what they say costs no look at it.
func TestDaysAreForgotten(t *testing.T) {
	now := time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)
	s := clocked(t, &now)
	for range 200 {
		in(t, s, func(tx *store.Tx) error {
			_, err := tx.InsertExchange(store.ExchangeRow{Spec: "run.r", Execution: 1, USD: 1})
			return err
		})
		now = now.AddDate(0, 0, 1)
	}
	before := s.Work().Rows
	var usd float64
	in(t, s, func(tx *store.Tx) (err error) { usd, err = tx.SpentOnDays(time.Time{}, now); return err })
	if rows := s.Work().Rows - before; usd < 60 || usd > 63 || rows > 5 {
		t.Errorf("%v dollars are known, from %d rows", usd, rows)
	}
}

func TestWhatALimitComesTo(t *testing.T) {
	now := time.Date(2030, 5, 3, 12, 0, 0, 0, time.UTC)
	night, june := time.Date(2030, 5, 4, 0, 0, 0, 0, time.UTC), time.Date(2030, 6, 1, 0, 0, 0, 0, time.UTC)
	for name, tt := range map[string]struct {
		day, month float64 // spent of 5 and 20
		until      time.Time
		says       string
	}{
		"nothing is reached": {4.99, 19.99, time.Time{}, ""},
		"the day":            {5, 6, night, "all is held by the budget since 2030-05-03T12:00:00Z until 2030-05-04T00:00:00Z: budget.day of 5 USD reached: models have cost 5.00 USD"},
		"the month":          {1, 20.126, june, "all is held by the budget since 2030-05-03T12:00:00Z until 2030-06-01T00:00:00Z: budget.month of 20 USD reached: models have cost 20.13 USD"},
		"both":               {9, 21, june, "all is held by the budget since 2030-05-03T12:00:00Z until 2030-06-01T00:00:00Z: budget.day of 5 USD and budget.month of 20 USD reached: models have cost 9.00 and 21.00 USD"},
	} {
		h := budget.HoldOf([]budget.Period{{"day", 5, tt.day, 0, night}, {"month", 20, tt.month, 0, june}}, now)
		if tt.says == "" {
			if h != nil {
				t.Errorf("%s: %s", name, h)
			}
			continue
		}
		if h == nil || !h.Until.Equal(tt.until) || h.String() != tt.says {
			t.Errorf("%s: %v, want %s", name, h, tt.says)
		}
	}
}

// What trials at work may still spend is reserved; what they have spent, and those that are being judged, are not.
func TestTrialsAtWorkReserveWhatTheyMaySpend(t *testing.T) {
	now := time.Date(2030, 5, 3, 12, 0, 0, 0, time.UTC)
	s := clocked(t, &now)
	d := &plan.Run{Name: "r", Parallel: 8, Each: gateway.Budget{USD: 3}, Total: gateway.Budget{USD: 10}}
	var at []plan.Trial
	var f plan.Funds
	read := func() {
		in(t, s, func(tx *store.Tx) (err error) { f, err = budget.Funds(tx, d, "run.r", 1, at); return err })
	}
	if read(); f.Trials != 3 {
		t.Errorf("nothing works: %+v", f)
	}
	at = []plan.Trial{{ID: "r.e1.1", Try: 1, Live: true}, {ID: "r.e1.2", Try: 1, Live: true}}
	if read(); f.Trials != 1 || !f.Later {
		t.Errorf("two work: %+v", f)
	}
	in(t, s, func(tx *store.Tx) error {
		_, err := tx.InsertExchange(store.ExchangeRow{Spec: "run.r", Execution: 1, Trial: "r.e1.1", Try: 1, USD: 2})
		return err
	})
	if read(); f.Trials != 1 || !f.Later { // 8 are left, and 1 and 3 reserved
		t.Errorf("one has spent: %+v", f)
	}
	in(t, s, func(tx *store.Tx) error {
		if err := tx.PutExecution(store.ExecutionRow{Spec: "run.r", N: 1}); err != nil {
			return err
		}
		for i, phase := range []trial.Phase{trial.Grading, trial.Running} {
			id := at[i].ID
			if err := tx.PutTrial(store.TrialRow{ID: id, Spec: "run.r", Execution: 1, Cell: "k" + id, Try: 1, Phase: string(phase)}); err != nil {
				return err
			}
			if err := tx.PutCell(store.CellRow{Trial: id, Spec: "run.r", Execution: 1, Key: "k" + id, Try: 1, State: map[trial.Phase]string{trial.Grading: "judging", trial.Running: "working"}[phase]}); err != nil {
				return err
			}
		}
		_, err := tx.InsertExchange(store.ExchangeRow{Spec: "run.r", Execution: 1, Trial: "r.e1.2", Try: 1, USD: 2.5})
		return err
	})
	if read(); f.Trials != 1 { // 5.5 are left, and 0.5 reserved
		t.Errorf("one is judged: %+v", f)
	}
	d.Total.USD = 6.4
	if read(); f.Trials != 0 || !f.Later || !strings.Contains(f.Why, "trials at work may need") {
		t.Errorf("with less: %+v", f)
	}
	at = nil
	if read(); f.Trials != 0 || !f.Over() || !strings.Contains(f.Why, "less than a trial may spend") {
		t.Errorf("with less, and nothing at work: %+v", f)
	}
}
