package store

import "fmt"

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
	id, err = one(t, func(r row) (id int64, err error) { return id, r.Scan(&id) },
		`INSERT INTO exchanges (spec, execution, trial, try, provider, model, input, output, cached, estimated, usd)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id`,
		x.Spec, x.Execution, x.Trial, x.Try, x.Provider, x.Model, x.Input, x.Output, x.Cached, x.Estimated, x.USD)
	if err != nil {
		return 0, fmt.Errorf("store an exchange of trial %q: %w", x.Trial, err)
	}
	return id, nil
}

// UpdateExchange replaces what a stored exchange took. It fails with ErrNotFound.
func (t *Tx) UpdateExchange(id int64, x ExchangeRow) error {
	n, err := t.exec("UPDATE exchanges SET input = ?, output = ?, cached = ?, estimated = ?, usd = ? WHERE id = ?",
		x.Input, x.Output, x.Cached, x.Estimated, x.USD, id)
	if err == nil && n == 0 {
		err = ErrNotFound
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

const spentColumns = "count(*), ifnull(sum(input), 0), ifnull(sum(output), 0), ifnull(sum(cached), 0), ifnull(sum(estimated), 0), ifnull(sum(usd), 0.0)"

func scanSpent(r row) (s Spent, err error) {
	return s, r.Scan(&s.Exchanges, &s.Input, &s.Output, &s.Cached, &s.Estimated, &s.USD)
}

// SpentByTry sums up the exchanges of one try of a spec's trial.
func (t *Tx) SpentByTry(spec, trial string, try int) (Spent, error) {
	s, err := one(t, scanSpent, "SELECT "+spentColumns+" FROM exchanges WHERE trial = ? AND try = ? AND spec = ?", trial, try, spec)
	if err != nil {
		return s, fmt.Errorf("sum up what trial %q spent: %w", trial, err)
	}
	return s, nil
}

// SpentByExecution sums up the exchanges of all trials of an execution.
func (t *Tx) SpentByExecution(spec string, n int) (Spent, error) {
	s, err := one(t, scanSpent, "SELECT "+spentColumns+" FROM exchanges WHERE spec = ? AND execution = ?", spec, n)
	if err != nil {
		return s, fmt.Errorf("sum up what execution e%d of %s spent: %w", n, spec, err)
	}
	return s, nil
}
