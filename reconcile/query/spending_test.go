package query

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/assayd/assayd/reconcile/store"
)

// Each number is that of its exchanges, and the lists are bounded.
func TestSpendingAddsUp(t *testing.T) {
	h := newFixture(t)
	r := h.reader()
	empty, err := r.Spending(t.Context())
	check(t, err)
	if text, err := json.Marshal(empty); err != nil || empty.HourUSD != 0 || len(text) == 0 || empty.Items == nil {
		t.Errorf("before anything: %s, %v", text, err)
	}
	check(t, h.store.Do(t.Context(), func(tx *store.Tx) error {
		for i := range 150 {
			for _, spec := range []string{"run.a", "mining.b"} {
				if _, err := tx.InsertExchange(store.ExchangeRow{Spec: spec, Execution: 1, Provider: "p", Model: fmt.Sprintf("m%02d", i%30), Input: 10, Output: 1, USD: float64(i)}); err != nil {
					return err
				}
			}
		}
		for i := range 70 { // cheap ones, for more lines than are told
			if _, err := tx.InsertExchange(store.ExchangeRow{Spec: fmt.Sprintf("run.s%02d", i), Execution: 1, Provider: "p", Model: "m", USD: 0.5}); err != nil {
				return err
			}
		}
		return nil
	}))
	s, err := r.Spending(t.Context())
	check(t, err)
	const each = 150 * 149 / 2
	const all = 2*each + 70*0.5
	if s.HourUSD != all || s.TodayUSD != all || s.MonthUSD != all {
		t.Errorf("%v in the last hour, %v today, %v in this month; want %v", s.HourUSD, s.TodayUSD, s.MonthUSD, all)
	}
	sum := s.OtherUSD
	for _, x := range s.Items {
		sum += x.DayUSD
		if x.HourUSD != x.DayUSD {
			t.Errorf("%+v: there is no other hour", x)
		}
	}
	if len(s.Items) != spendingLines || sum != all || s.OtherUSD != 30*0.5 || s.Items[0].DayUSD != 29+59+89+119+149 {
		t.Errorf("%d lines and others come to %v", len(s.Items), sum)
	}
	hours := 0.0
	for _, x := range s.Hours {
		hours += x.USD
	}
	if hours != all {
		t.Errorf("the hours come to %v", hours)
	}
	o, err := r.Overview(t.Context())
	check(t, err)
	want := fmt.Sprintf("$%.2f in the last hour: mining.b %.2f, run.a %.2f, run.s00 0.50, run.s01 0.50, run.s02 0.50; today $%.2f", all, float64(each), float64(each), all)
	if got := o.Spending.InWords(); got != want {
		t.Errorf("in short: %s\nwant %s", got, want)
	}
}
