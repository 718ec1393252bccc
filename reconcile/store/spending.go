package store

import (
	"fmt"
	"time"
)

// spendingSchema has what models cost by time: by the minute for what is new, then by the hour.
const spendingSchema = `
CREATE TABLE spending (
	minute   INTEGER NOT NULL, -- of Unix time; the first one of an hour once that is rolled up
	spec     TEXT NOT NULL,
	provider TEXT NOT NULL,
	model    TEXT NOT NULL,
	input    INTEGER NOT NULL,
	output   INTEGER NOT NULL,
	usd      INTEGER NOT NULL, -- in units of 1e-12 dollars
	PRIMARY KEY (minute, spec, provider, model)
) STRICT, WITHOUT ROWID;
CREATE INDEX spending_minutes ON spending (minute) WHERE minute % 60 <> 0;
`

// For how long it is known what models cost. A row for each minute of 90 days would be 130,000 for each spec and
// model. Nobody asks for a minute of last week.
const (
	minutesKept = 2 * time.Hour
	hoursKept   = 90 * 24 * time.Hour
)

// An agent writes the name of a model, and may write another one in each request: of each spec so many names
// of models an hour have rows of their own. What the others cost is under otherModels.
const (
	modelsKept  = 32
	otherModels = "other"
)

// spentModels are the models that have rows in the present hour, by spec. They belong to the one writer of the store.
type spentModels struct {
	hour int64
	of   map[string]map[string]bool
}

// name is under which model a request counts.
func (m *spentModels) name(hour int64, spec, model string) string {
	if m.of == nil || m.hour != hour {
		m.hour, m.of = hour, map[string]map[string]bool{}
	}
	known := m.of[spec]
	switch {
	case known[model]:
		return model
	case len(known) >= modelsKept:
		return otherModels
	case known == nil:
		known = map[string]bool{}
		m.of[spec] = known
	}
	known[model] = true
	return model
}

func minuteOf(at time.Time) int64 { return at.Unix() / 60 }

// addMinute adds to what a model costs now. More may be less than nothing: an exchange is booked at what it may
// cost, and corrected when it has ended.
func (t *Tx) addMinute(of ExchangeRow, more sum) error {
	now := t.store.clock()
	hour := now.Unix() / 3600
	_, err := t.exec(`INSERT INTO spending (minute, spec, provider, model, input, output, usd) VALUES (?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT DO UPDATE SET input = input + excluded.input, output = output + excluded.output, usd = usd + excluded.usd`,
		minuteOf(now), of.Spec, of.Provider, t.store.models.name(hour, of.Spec, of.Model), more.input, more.output, more.usd)
	if err == nil && t.store.rolledUp.Swap(hour) != hour {
		err = t.rollUp(now)
	}
	if err != nil {
		return fmt.Errorf("add up what this minute cost: %w", err)
	}
	return nil
}

// rollUp makes one row of the minutes of each hour that is over for a while, and forgets what is too old.
func (t *Tx) rollUp(now time.Time) error {
	end := minuteOf(now.Add(-minutesKept).Truncate(time.Hour))
	for _, step := range []struct {
		query string
		until int64
	}{
		{`INSERT INTO spending SELECT minute / 60 * 60, spec, provider, model, sum(input), sum(output), sum(usd)
			FROM spending WHERE minute < ? AND minute % 60 <> 0 GROUP BY 1, 2, 3, 4
			ON CONFLICT DO UPDATE SET input = input + excluded.input, output = output + excluded.output, usd = usd + excluded.usd`, end},
		{"DELETE FROM spending WHERE minute < ? AND minute % 60 <> 0", end},
		{"DELETE FROM spending WHERE minute < ?", minuteOf(now.Add(-hoursKept))},
	} {
		if _, err := t.exec(step.query, step.until); err != nil {
			return err
		}
	}
	return nil
}

// SpendingRow is what a model has cost a spec since a moment.
type SpendingRow struct {
	Spec, Provider, Model string
	Input, Output         int64 // tokens
	USD                   float64
}

// SpendingSince is what models have cost since a moment: by spec, provider, and model, at most limit of these, the
// dearest first, and all together. It is by the minute for two hours, before that by the hour, for 90 days. The minute or
// hour in which the moment lies counts as a whole.
func (t *Tx) SpendingSince(from time.Time, limit int) (rows []SpendingRow, usd float64, err error) {
	at := minuteOf(from)
	if from.Before(t.store.clock().Add(-minutesKept).Truncate(time.Hour)) {
		at = at / 60 * 60
	}
	err = each(t, func(r row) (x SpendingRow, err error) {
		var units int64
		err = r.Scan(&x.Spec, &x.Provider, &x.Model, &x.Input, &x.Output, &units)
		x.USD = float64(units) / (1 / usdUnit)
		return x, err
	}, func(x SpendingRow) error {
		usd += x.USD
		if len(rows) < limit {
			rows = append(rows, x)
		}
		return nil
	}, `SELECT spec, provider, model, sum(input), sum(output), sum(usd) AS cost FROM spending WHERE minute >= ?
		GROUP BY spec, provider, model ORDER BY cost DESC, spec, provider, model`, at)
	if err != nil {
		return nil, 0, fmt.Errorf("sum up what models have cost since %s: %w", from.UTC().Format(time.RFC3339), err)
	}
	return rows, max(usd, 0), nil
}

// HourRow is what all models together cost in an hour.
type HourRow struct {
	Begin time.Time
	USD   float64
}

// SpendingByHour is what all models together have cost since a moment, by the hours in which they cost something.
func (t *Tx) SpendingByHour(from time.Time) ([]HourRow, error) {
	rows, err := list(t, func(r row) (x HourRow, err error) {
		var hour, units int64
		err = r.Scan(&hour, &units)
		return HourRow{time.Unix(hour*3600, 0).UTC(), max(float64(units)/(1/usdUnit), 0)}, err
	}, "SELECT minute / 60, sum(usd) FROM spending WHERE minute >= ? GROUP BY 1 ORDER BY 1", minuteOf(from.Truncate(time.Hour)))
	if err != nil {
		return nil, fmt.Errorf("sum up what models cost by the hour: %w", err)
	}
	return rows, nil
}

// DearRow is what the tries of a trial at work have cost together.
type DearRow struct {
	Trial, Spec, Benchmark, Task, Agent, Model, State string
	Execution                                         int
	USD                                               float64
}

// DearestTrials returns at most limit trials at work that have cost something, the dearest first.
func (t *Tx) DearestTrials(limit int) ([]DearRow, error) {
	rows, err := list(t, func(r row) (x DearRow, err error) {
		var units int64
		err = r.Scan(&x.Trial, &x.Spec, &x.Execution, &x.Benchmark, &x.Task, &x.Agent, &x.Model, &x.State, &units)
		x.USD = float64(units) / (1 / usdUnit)
		return x, err
	}, `SELECT c.trial, c.spec, c.execution, c.benchmark, c.task, c.agent, c.model, c.state,
			(SELECT ifnull(sum(usd), 0) FROM spent s WHERE s.trial = c.trial AND s.spec = c.spec AND s.execution = c.execution) AS cost
		FROM executions e JOIN cells c ON c.spec = e.spec AND c.execution = e.n AND c.state IN ('setup', 'working', 'judging', 'retrying')
		WHERE e.finished_at = 0 AND cost > 0 ORDER BY cost DESC, c.trial LIMIT ?`, limit)
	if err != nil {
		return nil, fmt.Errorf("look for the trials that cost most: %w", err)
	}
	return rows, nil
}
