package store

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/assayd/assayd/reconcile/store/change"
)

// CellRow is what a trial is to lists, counts and plans. It is stored with the trial, so that none
// of them reads the trial itself.
type CellRow struct {
	Trial     string
	Spec      string
	Execution int
	Key       string // of the cell
	Benchmark string
	Task      string
	Repo      string
	Agent     string
	Model     string
	Attempt   int
	Control   bool // the agent is no agent: in no rate
	Try       int
	Phase     string
	Status    string // "" while the trial is open
	State     string // what counts are by; one word
	Reason    string
	Stands    bool // it has a verdict that asks for nothing: no other try comes by itself
	// Superseded: other trials have taken its place. Unwanted: it ended because nobody wants it.
	Superseded, Unwanted bool

	Created, Started, Deadline, Ended, Finished time.Time

	Rounds   int      // judged ones of the try
	Round    string   // that the rates are of: the last one while the trial is open, then the best
	PassRate *float64 // nil = nothing is judged
	Score    *float64
	Score100 *float64
	Flags    []string
	N        int64 // of its last change; 0 where an earlier version made that
}

const cellColumns = `trial, spec, execution, key, benchmark, task, repo, agent, model, attempt, control, try, phase, status, state,
	reason, stands, superseded, unwanted, created, started, deadline, ended, finished, rounds, round, pass_rate, score, score_100, flags, n`

func scanCell(r row) (c CellRow, err error) {
	return c, r.Scan(&c.Trial, &c.Spec, &c.Execution, &c.Key, &c.Benchmark, &c.Task, &c.Repo, &c.Agent, &c.Model, &c.Attempt, &c.Control,
		&c.Try, &c.Phase, &c.Status, &c.State, &c.Reason, &c.Stands, &c.Superseded, &c.Unwanted, moment{&c.Created}, moment{&c.Started},
		moment{&c.Deadline}, moment{&c.Ended}, moment{&c.Finished}, &c.Rounds, &c.Round, &c.PassRate, &c.Score, &c.Score100, words{&c.Flags}, &c.N)
}

// PutCell stores what a trial is now, whose row is stored. Of a trial that has a cell, Rounds are
// those that PutRound has counted in the try, and so are the rates as long as it is open. Created is
// that of the trial's row.
func (t *Tx) PutCell(c CellRow) error { return t.putCell(c, t.next()) }

// FillCell stores that of a trial which an earlier version left, unless there is one.
func (t *Tx) FillCell(c CellRow) error { return t.putCell(c, 0) }

func (t *Tx) putCell(c CellRow, n int64) error {
	open := c.Status == ""
	then := `DO UPDATE SET try = excluded.try, phase = excluded.phase, status = excluded.status, state = excluded.state,
		reason = excluded.reason, stands = excluded.stands, superseded = excluded.superseded, unwanted = excluded.unwanted,
		started = excluded.started, deadline = excluded.deadline, ended = excluded.ended, finished = excluded.finished,
		flags = excluded.flags, n = excluded.n`
	switch {
	case n == 0:
		then = "DO NOTHING"
	case open:
		then += `, rounds = iif(try = excluded.try, rounds, 0), round = iif(try = excluded.try, round, ''),
		pass_rate = iif(try = excluded.try, pass_rate, NULL), score = iif(try = excluded.try, score, NULL),
		score_100 = iif(try = excluded.try, score_100, NULL)`
	default:
		then += ", round = excluded.round, pass_rate = excluded.pass_rate, score = excluded.score, score_100 = excluded.score_100"
	}
	flags, err := json.Marshal(c.Flags)
	if err == nil {
		_, err = t.exec(`INSERT INTO cells (`+cellColumns+`)
			SELECT ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?,
				coalesce((SELECT created_at FROM trials WHERE id = ?1), ?), ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?
			WHERE true ON CONFLICT (trial) `+then,
			c.Trial, c.Spec, c.Execution, c.Key, c.Benchmark, c.Task, c.Repo, c.Agent, c.Model, c.Attempt, c.Control,
			c.Try, c.Phase, c.Status, c.State, c.Reason, c.Stands, c.Superseded, c.Unwanted, nanos(t.store.clock()),
			nanos(c.Started), nanos(c.Deadline), nanos(c.Ended), nanos(c.Finished), c.Rounds, c.Round, c.PassRate, c.Score, c.Score100,
			string(t.store.encoder.Text(flags)), n)
	}
	if err != nil {
		return fmt.Errorf("store the cell of trial %q: %w", c.Trial, err)
	}
	if n > 0 {
		t.touch(c.Trial, change.Cells)
		return t.touchTopic(c.Spec, change.Cells)
	}
	return nil
}

// RoundRow is a round that was judged.
type RoundRow struct {
	Trial    string
	Try      int
	Round    string
	PassRate *float64
	Score    *float64
	Score100 *float64
}

// PutRound counts a judged round of a trial's present try. The rates of a trial that is over stay
// those of its best round. Of a trial that has no cell, or is in another try, nothing is stored.
func (t *Tx) PutRound(x RoundRow) error {
	spec, err := list(t, scanString, `UPDATE cells SET rounds = rounds + 1, n = ?5,
		round = iif(status = '', ?1, round), pass_rate = iif(status = '', ?2, pass_rate),
		score = iif(status = '', ?3, score), score_100 = iif(status = '', ?4, score_100)
		WHERE trial = ?6 AND try = ?7 RETURNING spec`, x.Round, x.PassRate, x.Score, x.Score100, t.next(), x.Trial, x.Try)
	if err != nil {
		return fmt.Errorf("count round %q of trial %q: %w", x.Round, x.Trial, err)
	}
	for _, address := range spec {
		t.touch(x.Trial, change.Rounds)
		if err := t.touchTopic(address, change.Rounds); err != nil {
			return err
		}
	}
	return nil
}

// Cell returns that of a trial, or ErrNotFound.
func (t *Tx) Cell(trial string) (CellRow, error) {
	c, err := one(t, scanCell, "SELECT "+cellColumns+" FROM cells WHERE trial = ?", trial)
	if err != nil {
		return c, fmt.Errorf("cell of trial %q: %w", trial, err)
	}
	return c, nil
}

// CellQuery says which cells a list has. Spec and Execution are needed; of the others "" is all.
type CellQuery struct {
	Spec      string
	Execution int
	State     string
	Agent     string
	Model     string
	Task      string // with or without its benchmark
	Flag      string
	Tag       string
	Latest    bool  // those that have changed last come first; else in the order in which they began
	Since     int64 // over 0: only those that have changed after this change, in the order of the changes
	// The list goes on behind the cell that has these: Created and Trial, or, with Latest, N and Trial.
	After *CellRow
	Limit int
}

// CellsOf returns cells of an execution.
func (t *Tx) CellsOf(q CellQuery) ([]CellRow, error) {
	where, args := []string{"spec = ?", "execution = ?"}, []any{q.Spec, q.Execution}
	add := func(condition string, value ...any) {
		where, args = append(where, condition), append(args, value...)
	}
	for _, f := range []struct{ column, value string }{{"state", q.State}, {"agent", q.Agent}, {"model", q.Model}} {
		if f.value != "" {
			add(f.column+" = ?", f.value)
		}
	}
	if q.Task != "" {
		add("(task = ? OR benchmark || '/' || task = ?)", q.Task, q.Task)
	}
	if q.Flag != "" {
		add("EXISTS (SELECT 1 FROM json_each(flags) WHERE value = ?)", q.Flag)
	}
	if q.Tag != "" {
		add("EXISTS (SELECT 1 FROM tags WHERE target = trial AND tag = ?)", q.Tag)
	}
	order := "created, trial"
	switch {
	case q.Since > 0:
		add("n > ?", q.Since)
		order = "n"
	case q.Latest:
		order = "n DESC, trial DESC"
	}
	switch a := q.After; {
	case a != nil && q.Latest:
		add("(n, trial) < (?, ?)", a.N, a.Trial)
	case a != nil:
		add("(created, trial) > (?, ?)", nanos(a.Created), a.Trial)
	}
	cells, err := list(t, scanCell, "SELECT "+cellColumns+" FROM cells WHERE "+strings.Join(where, " AND ")+" ORDER BY "+order+" LIMIT ?",
		append(args, q.Limit)...)
	if err != nil {
		return nil, fmt.Errorf("list cells of %q e%d: %w", q.Spec, q.Execution, err)
	}
	return cells, nil
}

// CellsAtTask returns at most limit cells at a task, of all runs and executions, those that began last first: from behind
// the cell that has Created and Trial of after; nil is before all.
func (t *Tx) CellsAtTask(benchmark, task string, after *CellRow, limit int) ([]CellRow, error) {
	where, args := "", []any{benchmark, task}
	if after != nil {
		where, args = " AND (created, trial) < (?, ?)", append(args, nanos(after.Created), after.Trial)
	}
	cells, err := list(t, scanCell, "SELECT "+cellColumns+" FROM cells WHERE benchmark = ? AND task = ?"+where+" ORDER BY created DESC, trial DESC LIMIT ?",
		append(args, limit)...)
	if err != nil {
		return nil, fmt.Errorf("list cells at %s/%s: %w", benchmark, task, err)
	}
	return cells, nil
}

// EachCell calls do with every cell of an execution, by trial; do makes no query.
func (t *Tx) EachCell(spec string, execution int, do func(CellRow) error) error {
	err := each(t, scanCell, do, "SELECT "+cellColumns+" FROM cells WHERE spec = ? AND execution = ? ORDER BY trial", spec, execution)
	if err != nil {
		return fmt.Errorf("read cells of %q e%d: %w", spec, execution, err)
	}
	return nil
}

// CellShort is as much of a cell as a picture of all of them needs.
type CellShort struct {
	Trial, Benchmark, Task, Agent, Model string
	Attempt                              int
	State                                string
	PassRate                             *float64
	Flagged                              bool
}

// EachCellShort calls do with the cells of an execution, in no order.
func (t *Tx) EachCellShort(spec string, execution int, do func(CellShort) error) error {
	err := each(t, func(r row) (c CellShort, err error) {
		return c, r.Scan(&c.Trial, &c.Benchmark, &c.Task, &c.Agent, &c.Model, &c.Attempt, &c.State, &c.PassRate, &c.Flagged)
	}, do, "SELECT trial, benchmark, task, agent, model, attempt, state, pass_rate, flags NOT IN ('', '[]', 'null') FROM cells WHERE spec = ? AND execution = ?", spec, execution)
	if err != nil {
		return fmt.Errorf("read cells of %q e%d: %w", spec, execution, err)
	}
	return nil
}

// EndedCell is what a cell has taken, whose trial is over.
type EndedCell struct {
	Benchmark, Task, Status  string
	Started, Ended, Finished time.Time
	USD                      *float64 // of all its tries; nil = no request to a model is known
}

// EndedCellsOf returns the cells of an agent with a model that have ended last, of all runs, limit at most.
func (t *Tx) EndedCellsOf(agent, model string, limit int) ([]EndedCell, error) {
	cells, err := list(t, func(r row) (c EndedCell, err error) {
		return c, r.Scan(&c.Benchmark, &c.Task, &c.Status, moment{&c.Started}, moment{&c.Ended}, moment{&c.Finished}, &c.USD)
	}, `SELECT benchmark, task, status, started, ended, finished,
		(SELECT sum(usd) * 1e-12 FROM spent WHERE spent.trial = cells.trial AND spent.spec = cells.spec AND spent.execution = cells.execution)
		FROM cells WHERE agent = ? AND model = ? AND finished > 0 ORDER BY finished DESC LIMIT ?`, agent, model, limit)
	if err != nil {
		return nil, fmt.Errorf("read what agent %q has done: %w", agent, err)
	}
	return cells, nil
}

// CountRow is how many cells of an execution are in a state.
type CountRow struct {
	State string
	Cells int
	N     int64 // of the last change of one that is, or was, in it
}

// CellCounts returns the counts of an execution by state, those that are 0 too.
func (t *Tx) CellCounts(spec string, execution int) ([]CountRow, error) {
	counts, err := list(t, func(r row) (c CountRow, err error) { return c, r.Scan(&c.State, &c.Cells, &c.N) },
		"SELECT state, cells, n FROM cell_counts WHERE spec = ? AND execution = ? ORDER BY state", spec, execution)
	if err != nil {
		return nil, fmt.Errorf("count cells of %q e%d: %w", spec, execution, err)
	}
	return counts, nil
}

// TrialsAfter returns at most limit trials of all specs with an id behind that one, by id.
func (t *Tx) TrialsAfter(id string, limit int) ([]TrialRow, error) {
	rows, err := list(t, scanTrial, "SELECT "+trialColumns+" FROM trials WHERE id > ? ORDER BY id LIMIT ?", id, limit)
	if err != nil {
		return nil, fmt.Errorf("read trials: %w", err)
	}
	return rows, nil
}

// SummaryRow is what an execution's cells amount to.
type SummaryRow struct {
	N     int64 // of the last change of a cell that is in it
	Cells int   // that are in it
	Made  time.Time
	Data  json.RawMessage
}

// PutSummary stores what an execution amounts to in a form; kind names that.
func (t *Tx) PutSummary(spec string, execution int, kind string, x SummaryRow) error {
	data, err := t.store.encoder.Column(x.Data)
	if err == nil {
		_, err = t.exec(`INSERT INTO summaries (spec, execution, kind, n, cells, made, data) VALUES (?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT (spec, execution, kind) DO UPDATE SET n = excluded.n, cells = excluded.cells, made = excluded.made, data = excluded.data`,
			spec, execution, kind, x.N, x.Cells, nanos(x.Made), data)
	}
	if err != nil {
		return fmt.Errorf("store the %s of %q e%d: %w", kind, spec, execution, err)
	}
	return nil
}

// Summary returns the stored summary of an execution of a kind, or ErrNotFound.
func (t *Tx) Summary(spec string, execution int, kind string) (SummaryRow, error) {
	x, err := one(t, func(r row) (x SummaryRow, err error) {
		return x, r.Scan(&x.N, &x.Cells, moment{&x.Made}, document{&x.Data})
	},
		"SELECT n, cells, made, data FROM summaries WHERE spec = ? AND execution = ? AND kind = ?", spec, execution, kind)
	if err != nil {
		return x, fmt.Errorf("%s of %q e%d: %w", kind, spec, execution, err)
	}
	return x, nil
}

// words scans a column that is a JSON list of strings.
type words struct{ to *[]string }

// Scan implements sql.Scanner.
func (w words) Scan(src any) error {
	text, ok := src.(string)
	if !ok {
		return fmt.Errorf("column of words holds %T", src)
	}
	*w.to = nil
	return json.Unmarshal([]byte(text), w.to)
}
