package query

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/assayd/assayd/reconcile/budget"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/clock"
)

// Spending is what models cost now, and what they have cost of late. Each of its lists is bounded.
type Spending struct {
	AsOf     time.Time       `json:"as_of"`
	HourUSD  float64         `json:"hour_usd"`  // in the last 60 minutes
	TodayUSD float64         `json:"today_usd"` // on this day of UTC
	MonthUSD float64         `json:"month_usd"` // in this month of UTC
	Budgets  []budget.Period `json:"budgets"`   // days and months that the settings bound
	Items    []SpendingLine  `json:"items"`     // of the last 24 hours, the dearest first
	OtherUSD float64         `json:"other_usd"` // in the last 24 hours, of what is in no line
	Hours    []SpendingHour  `json:"hours"`     // the last 48, the oldest first; those that cost nothing are left out
	Trials   []DearTrial     `json:"trials"`    // at work, the dearest first
}

// SpendingLine is what a model of a provider has cost a run or a mining spec.
type SpendingLine struct {
	Spec         string  `json:"spec"` // address; "" = a check of a task
	Provider     string  `json:"provider"`
	Model        string  `json:"model"`
	HourUSD      float64 `json:"hour_usd"` // in the last 60 minutes
	DayUSD       float64 `json:"day_usd"`  // in the last 24 hours; so are the tokens
	InputTokens  int64   `json:"input_tokens"`
	OutputTokens int64   `json:"output_tokens"`
}

// SpendingHour is what all models together cost in an hour.
type SpendingHour struct {
	Begin time.Time `json:"begin"`
	USD   float64   `json:"usd"`
}

// DearTrial is what the tries of a trial at work have cost together.
type DearTrial struct {
	Trial     string  `json:"trial"`
	Run       string  `json:"run"` // address
	Execution int     `json:"execution"`
	Benchmark string  `json:"benchmark,omitempty"`
	Task      string  `json:"task"`
	Agent     string  `json:"agent"`
	Model     string  `json:"model"`
	State     string  `json:"state"`
	USD       float64 `json:"usd"`
}

// SpendingNow is what models cost now, in short.
type SpendingNow struct {
	HourUSD  float64         `json:"hour_usd"`  // in the last 60 minutes
	TodayUSD float64         `json:"today_usd"` // on this day of UTC
	Specs    []SpecCost      `json:"specs"`     // that cost most in these 60 minutes, the dearest first
	Budgets  []budget.Period `json:"budgets"`   // days and months that the settings bound
}

// SpecCost is what models have cost a spec in the last 60 minutes.
type SpecCost struct {
	Spec    string  `json:"spec"` // address
	HourUSD float64 `json:"hour_usd"`
}

// How much of what models cost is told.
const (
	spendingSpecs  = 5
	spendingLines  = 100
	spendingHours  = 48
	spendingTrials = 20
	mostLines      = 10_000 // of the last hour, of which each line of the day has its share
)

// Spending reads what models cost. It costs what was asked for in the last two days, whatever was before.
func (r *Reader) Spending(ctx context.Context) (s Spending, err error) {
	now := clock.Now().UTC()
	s = Spending{AsOf: now, Budgets: []budget.Period{}, Items: []SpendingLine{}, Hours: []SpendingHour{}, Trials: []DearTrial{}}
	err = r.o.Store.View(ctx, func(tx *store.Tx) error {
		if err := s.sums(tx, now); err != nil {
			return err
		}
		if err := s.lines(tx, now); err != nil {
			return err
		}
		hours, err := tx.SpendingByHour(now.Add(-(spendingHours - 1) * time.Hour))
		if err != nil {
			return err
		}
		for _, h := range hours {
			s.Hours = append(s.Hours, SpendingHour(h))
		}
		dear, err := tx.DearestTrials(spendingTrials)
		if err != nil {
			return err
		}
		for _, x := range dear {
			s.Trials = append(s.Trials, DearTrial{x.Trial, x.Spec, x.Execution, x.Benchmark, x.Task, x.Agent, x.Model, x.State, x.USD})
		}
		budgets, err := r.budgets(tx, now)
		s.Budgets = append(s.Budgets, budgets...)
		return err
	})
	return s, err
}

// sums fills in what this day and month have cost.
func (s *Spending) sums(tx *store.Tx, now time.Time) (err error) {
	if s.TodayUSD, err = tx.SpentOnDays(now, now); err == nil {
		s.MonthUSD, err = tx.SpentOnDays(time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC), now)
	}
	return err
}

// spendingNow reads what models cost now, in short.
func (r *Reader) spendingNow(tx *store.Tx, now time.Time) (s SpendingNow, err error) {
	s = SpendingNow{Specs: []SpecCost{}, Budgets: []budget.Period{}}
	lines, usd, err := tx.SpendingSince(now.Add(-time.Hour), mostLines)
	if err != nil {
		return s, err
	}
	s.HourUSD = usd
	of := map[string]float64{}
	for _, x := range lines {
		of[x.Spec] += x.USD
	}
	for spec, usd := range of {
		if usd > 0 && spec != "" {
			s.Specs = append(s.Specs, SpecCost{spec, usd})
		}
	}
	slices.SortFunc(s.Specs, func(a, b SpecCost) int { return cmp.Or(cmp.Compare(b.HourUSD, a.HourUSD), cmp.Compare(a.Spec, b.Spec)) })
	s.Specs = s.Specs[:min(spendingSpecs, len(s.Specs))]
	if s.TodayUSD, err = tx.SpentOnDays(now, now); err != nil {
		return s, err
	}
	budgets, err := r.budgets(tx, now)
	s.Budgets = append(s.Budgets, budgets...)
	return s, err
}

// lines fills in what each model has cost each spec.
func (s *Spending) lines(tx *store.Tx, now time.Time) error {
	type key struct{ spec, provider, model string }
	of := map[key]float64{}
	hour, usd, err := tx.SpendingSince(now.Add(-time.Hour), mostLines)
	if err != nil {
		return err
	}
	for _, x := range hour {
		of[key{x.Spec, x.Provider, x.Model}] = max(x.USD, 0)
	}
	s.HourUSD = usd
	day, usd, err := tx.SpendingSince(now.Add(-24*time.Hour), spendingLines)
	for _, x := range day {
		s.Items = append(s.Items, SpendingLine{x.Spec, x.Provider, x.Model, of[key{x.Spec, x.Provider, x.Model}], max(x.USD, 0), max(x.Input, 0), max(x.Output, 0)})
		usd -= x.USD
	}
	s.OtherUSD = max(usd, 0)
	return err
}

// InWords is how much models cost now, for pages and terminals: "$61.00 in the last hour: run.nightly 52.00, mining.hard-go 9.00; today $412.00 of $500.00".
func (s SpendingNow) InWords() string {
	text := fmt.Sprintf("$%.2f in the last hour", s.HourUSD)
	for i, spec := range s.Specs {
		text += fmt.Sprintf("%s%s %.2f", []string{": ", ", "}[min(i, 1)], spec.Spec, spec.HourUSD)
	}
	text += fmt.Sprintf("; today $%.2f", s.TodayUSD)
	for _, b := range s.Budgets {
		if b.Period == budget.Day {
			text += fmt.Sprintf(" of $%.2f", b.LimitUSD)
		} else {
			text += fmt.Sprintf("; this month $%.2f of $%.2f", b.SpentUSD, b.LimitUSD)
		}
	}
	return text
}
