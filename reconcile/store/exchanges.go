package store

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/assayd/assayd/reconcile/store/change"
)

// ExchangeRow is one exchange with a model and what it took. Tokens of Cached and Estimated
// are among the others.
type ExchangeRow struct {
	Spec      string
	Execution int
	Trial     string
	Try       int
	Provider  string
	Model     string
	Input     int64
	Output    int64
	Cached    int64
	Estimated int64
	USD       float64
}

// InsertExchange stores an exchange and returns its id.
func (t *Tx) InsertExchange(x ExchangeRow) (id int64, err error) {
	if err := t.addSpent(x, spentOf(x, 1)); err != nil {
		return 0, err
	}
	id, err = one(t, func(r row) (id int64, err error) { return id, r.Scan(&id) },
		`INSERT INTO exchanges (spec, execution, trial, try, provider, model, input, output, cached, estimated, usd)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id`,
		x.Spec, x.Execution, x.Trial, x.Try, x.Provider, x.Model, x.Input, x.Output, x.Cached, x.Estimated, x.USD)
	if err != nil {
		return 0, fmt.Errorf("store an exchange of trial %q: %w", x.Trial, err)
	}
	return id, nil
}

// ProviderOf returns the provider that a try of a trial asked first, or ErrNotFound.
func (t *Tx) ProviderOf(trial string, try int) (string, error) {
	provider, err := one(t, scanString, "SELECT provider FROM exchanges WHERE trial = ? AND try = ? LIMIT 1", trial, try)
	if err != nil {
		return "", fmt.Errorf("read whom trial %q asked: %w", trial, err)
	}
	return provider, nil
}

// UpdateExchange replaces what a stored exchange took. It fails with ErrNotFound.
func (t *Tx) UpdateExchange(id int64, x ExchangeRow) error {
	old, err := one(t, func(r row) (x ExchangeRow, err error) {
		return x, r.Scan(&x.Spec, &x.Execution, &x.Trial, &x.Try, &x.Provider, &x.Model, &x.Input, &x.Output, &x.Cached, &x.Estimated, &x.USD)
	}, "SELECT spec, execution, trial, try, provider, model, input, output, cached, estimated, usd FROM exchanges WHERE id = ?", id)
	if err == nil {
		err = t.addSpent(old, spentOf(x, 1).less(spentOf(old, 1)))
	}
	if err == nil {
		_, err = t.exec("UPDATE exchanges SET input = ?, output = ?, cached = ?, estimated = ?, usd = ? WHERE id = ?",
			x.Input, x.Output, x.Cached, x.Estimated, x.USD, id)
	}
	if err != nil {
		return fmt.Errorf("update an exchange of trial %q: %w", x.Trial, err)
	}
	return nil
}

// Spent is what exchanges took together.
type Spent struct {
	Exchanges, Input, Output, Cached, Estimated int64
	USD                                         float64
}

// usdUnit is in what dollars are added up: sums of fractions of two would show their rounding.
const usdUnit = 1e-12

// sum is Spent with dollars in usdUnit.
type sum struct {
	exchanges, input, output, cached, estimated, usd int64
}

func spentOf(x ExchangeRow, exchanges int64) sum {
	return sum{exchanges, x.Input, x.Output, x.Cached, x.Estimated, int64(math.Round(x.USD / usdUnit))}
}

func (s sum) less(o sum) sum {
	return sum{s.exchanges - o.exchanges, s.input - o.input, s.output - o.output, s.cached - o.cached, s.estimated - o.estimated, s.usd - o.usd}
}

func (s sum) spent() Spent {
	return Spent{s.exchanges, s.input, s.output, s.cached, s.estimated, float64(s.usd) / (1 / usdUnit)}
}

// account is whose exchanges are added up: those of a try, or of a whole execution where trial is "".
type account struct {
	spec      string
	execution int
	trial     string
	try       int
}

// addSpent adds to the sums that an exchange is in, before its row is changed.
func (t *Tx) addSpent(of ExchangeRow, more sum) error {
	accounts := []account{{of.Spec, of.Execution, "", 0}}
	if of.Trial != "" {
		accounts = append(accounts, account{of.Spec, of.Execution, of.Trial, of.Try})
		known, err := t.exec("UPDATE cells SET n = ? WHERE trial = ?", t.next(), of.Trial)
		if err != nil {
			return fmt.Errorf("note what trial %q spent: %w", of.Trial, err)
		}
		if known > 0 { // it is no pull request
			t.touch(of.Trial, change.Usage)
		}
	}
	for _, a := range accounts {
		old, err := t.spent(a)
		if err == nil {
			_, err = t.exec(`INSERT INTO spent (spec, execution, trial, try, exchanges, input, output, cached, estimated, usd)
				VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
				ON CONFLICT DO UPDATE SET exchanges = excluded.exchanges, input = excluded.input, output = excluded.output,
					cached = excluded.cached, estimated = excluded.estimated, usd = excluded.usd`,
				a.spec, a.execution, a.trial, a.try, old.exchanges+more.exchanges, old.input+more.input, old.output+more.output,
				old.cached+more.cached, old.estimated+more.estimated, old.usd+more.usd)
		}
		if err != nil {
			return fmt.Errorf("add up what %s e%d spent: %w", a.spec, a.execution, err)
		}
	}
	if err := errors.Join(t.addDay(more.usd), t.addMinute(of, more)); err != nil {
		return err
	}
	return t.touchTopic(of.Spec, change.Usage)
}

// spent is the stored sum of an account, or, where an earlier version left none, the sum of its
// exchanges.
func (t *Tx) spent(a account) (sum, error) {
	scan := func(r row) (s sum, err error) {
		return s, r.Scan(&s.exchanges, &s.input, &s.output, &s.cached, &s.estimated, &s.usd)
	}
	s, err := one(t, scan, `SELECT exchanges, input, output, cached, estimated, usd FROM spent
		WHERE trial = ? AND try = ? AND spec = ? AND execution = ?`, a.trial, a.try, a.spec, a.execution)
	if !errors.Is(err, ErrNotFound) {
		return s, err
	}
	const columns = `SELECT count(*), ifnull(sum(input), 0), ifnull(sum(output), 0), ifnull(sum(cached), 0), ifnull(sum(estimated), 0),
		cast(round(ifnull(sum(usd), 0.0) * 1e12) AS INTEGER) FROM exchanges WHERE `
	if a.trial == "" {
		return one(t, scan, columns+"spec = ? AND execution = ?", a.spec, a.execution)
	}
	return one(t, scan, columns+"trial = ? AND try = ? AND spec = ? AND execution = ?", a.trial, a.try, a.spec, a.execution)
}

// SpentByTry is what the exchanges of one try of a trial took.
func (t *Tx) SpentByTry(spec string, execution int, trial string, try int) (Spent, error) {
	s, err := t.spent(account{spec, execution, trial, try})
	if err != nil {
		return Spent{}, fmt.Errorf("sum up what trial %q spent: %w", trial, err)
	}
	return s.spent(), nil
}

// SpentByExecution is what the exchanges of all trials of an execution took.
func (t *Tx) SpentByExecution(spec string, n int) (Spent, error) {
	s, err := t.spent(account{spec, n, "", 0})
	if err != nil {
		return Spent{}, fmt.Errorf("sum up what execution e%d of %s spent: %w", n, spec, err)
	}
	return s.spent(), nil
}

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
