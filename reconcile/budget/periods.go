package budget

import (
	"fmt"
	"strings"
	"time"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile/hold"
	"github.com/assayd/assayd/reconcile/store"
)

// Names of periods.
const (
	Day   = "day"
	Month = "month"
)

// Period is a day or a month of UTC whose cost the settings bound.
type Period struct {
	Period   string    `json:"period"`    // day, month
	LimitUSD float64   `json:"limit_usd"` // what all models together may cost
	SpentUSD float64   `json:"spent_usd"` // what they cost so far
	LeftUSD  float64   `json:"left_usd"`  // never below 0
	Ends     time.Time `json:"ends"`
}

// Periods are those of now that the settings bound.
func Periods(tx *store.Tx, limits config.HostBudget, now time.Time) (all []Period, err error) {
	now = now.UTC()
	year, month, day := now.Date()
	for _, p := range []struct {
		name        string
		limit       float64
		begin, ends time.Time
	}{
		{Day, limits.DayUSD, time.Date(year, month, day, 0, 0, 0, 0, time.UTC), time.Date(year, month, day+1, 0, 0, 0, 0, time.UTC)},
		{Month, limits.MonthUSD, time.Date(year, month, 1, 0, 0, 0, 0, time.UTC), time.Date(year, month+1, 1, 0, 0, 0, 0, time.UTC)},
	} {
		if p.limit <= 0 {
			continue
		}
		spent, err := tx.SpentOnDays(p.begin, now)
		if err != nil {
			return nil, err
		}
		all = append(all, Period{p.name, p.limit, spent, max(p.limit-spent, 0), p.ends})
	}
	return all, nil
}

// HoldOf is what periods come to whose limit is reached: a hold on everything until the last of them ends; nil = none
// is reached.
func HoldOf(periods []Period, now time.Time) *hold.Hold {
	var h *hold.Hold
	var limits, spent []string
	for _, p := range periods {
		if p.SpentUSD < p.LimitUSD {
			continue
		}
		if h == nil {
			h = &hold.Hold{Target: hold.All, Kind: hold.Budget, By: "assayd", Since: now.UTC()}
		}
		if p.Ends.After(h.Until) {
			h.Until = p.Ends
		}
		limits = append(limits, fmt.Sprintf("budget.%s of %.6g USD", p.Period, p.LimitUSD))
		spent = append(spent, fmt.Sprintf("%.2f", p.SpentUSD))
	}
	if h != nil {
		h.Reason = fmt.Sprintf("%s reached%s%s USD", strings.Join(limits, " and "), hold.Figures, strings.Join(spent, " and "))
	}
	return h
}
