package store

import (
	"fmt"
	"time"
)

// daysKept is for how long it is known what a day cost: a month is asked for at most.
const daysKept = 62 * 24 * time.Hour

// addDay adds to what all models together cost today, by the days of UTC.
func (t *Tx) addDay(usd int64) error {
	now := t.store.clock().UTC()
	_, err := t.exec("INSERT INTO spent_days (day, usd) VALUES (?, ?) ON CONFLICT (day) DO UPDATE SET usd = usd + excluded.usd", now.Format(time.DateOnly), usd)
	if err == nil {
		_, err = t.exec("DELETE FROM spent_days WHERE day < ?", now.Add(-daysKept).Format(time.DateOnly))
	}
	if err != nil {
		return fmt.Errorf("add up what today cost: %w", err)
	}
	return nil
}

// SpentOnDays is what all models together cost on days of UTC, from the day of one moment to that of another, in
// dollars. Days are known for two months.
func (t *Tx) SpentOnDays(from, to time.Time) (usd float64, err error) {
	sum, err := one(t, func(r row) (n int64, err error) { return n, r.Scan(&n) },
		"SELECT ifnull(sum(usd), 0) FROM spent_days WHERE day >= ? AND day <= ?", from.UTC().Format(time.DateOnly), to.UTC().Format(time.DateOnly))
	if err != nil {
		return 0, fmt.Errorf("sum up what days cost: %w", err)
	}
	return max(float64(sum)/(1/usdUnit), 0), nil // an exchange that cost less than was booked before midnight is less today
}
