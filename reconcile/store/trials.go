package store

import (
	"encoding/json"
	"fmt"
	"time"
)

// TrialRow is a cell being done in an execution.
type TrialRow struct {
	ID         string // "<run>.<execution>.<8 of the cell key>"
	Spec       string // address of the run
	Execution  int    // its number; the execution is stored in the same transaction or before
	Cell       string // the whole cell key
	Try        int    // 1, 2, …: the present one
	Phase      string // of the trial's own state machine
	Status     string // "" while the trial is open
	Wanted     bool   // the desired state still has the cell
	Data       json.RawMessage
	CreatedAt  time.Time // by PutTrial, the first time
	UpdatedAt  time.Time // by PutTrial
	FinishedAt time.Time // zero while the trial is open
}

const trialColumns = "id, spec, execution, cell, try, phase, status, wanted, data, created_at, updated_at, finished_at"

func scanTrial(r row) (x TrialRow, err error) {
	return x, r.Scan(&x.ID, &x.Spec, &x.Execution, &x.Cell, &x.Try, &x.Phase, &x.Status, &x.Wanted,
		document{&x.Data}, moment{&x.CreatedAt}, moment{&x.UpdatedAt}, moment{&x.FinishedAt})
}

// PutTrial stores x in place of what its id had. It fails with ErrExists when the id
// belongs to another cell: two keys may begin alike.
func (t *Tx) PutTrial(x TrialRow) error {
	now := nanos(t.store.clock())
	data, err := t.store.encoder.Column(x.Data)
	if err != nil {
		return fmt.Errorf("store trial %q: %w", x.ID, err)
	}
	n, err := t.exec(`INSERT INTO trials (`+trialColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET try = excluded.try, phase = excluded.phase, status = excluded.status,
			wanted = excluded.wanted, data = excluded.data, updated_at = excluded.updated_at,
			finished_at = excluded.finished_at
		WHERE spec = excluded.spec AND execution = excluded.execution AND cell = excluded.cell`,
		x.ID, x.Spec, x.Execution, x.Cell, x.Try, x.Phase, x.Status, x.Wanted, data, now, now, nanos(x.FinishedAt))
	if err == nil && n == 0 {
		err = fmt.Errorf("%w with another cell", ErrExists)
	}
	if err != nil {
		return fmt.Errorf("store trial %q: %w", x.ID, err)
	}
	return nil
}

// Trial returns a trial, or ErrNotFound.
func (t *Tx) Trial(id string) (TrialRow, error) {
	x, err := one(t, scanTrial, "SELECT "+trialColumns+" FROM trials WHERE id = ?", id)
	if err != nil {
		return x, fmt.Errorf("trial %q: %w", id, err)
	}
	return x, nil
}

// Trials returns all trials of an execution by id.
func (t *Tx) Trials(spec string, execution int) ([]TrialRow, error) {
	rows, err := list(t, scanTrial,
		"SELECT "+trialColumns+" FROM trials WHERE spec = ? AND execution = ? ORDER BY id", spec, execution)
	if err != nil {
		return nil, fmt.Errorf("read trials of %q e%d: %w", spec, execution, err)
	}
	return rows, nil
}

// TrialsWith returns trials of all specs whose data has a text in it, behind an id, at most limit, by id.
func (t *Tx) TrialsWith(text, after string, limit int) ([]TrialRow, error) {
	rows, err := list(t, scanTrial, "SELECT "+trialColumns+" FROM trials WHERE id > ? AND instr(data, ?) > 0 ORDER BY id LIMIT ?", after, text, limit)
	if err != nil {
		return nil, fmt.Errorf("read trials behind %q: %w", after, err)
	}
	return rows, nil
}

// RekeyTrial gives a trial and its cell another key, and the trial data that has it.
func (t *Tx) RekeyTrial(id, key string, data json.RawMessage) error {
	text, err := t.store.encoder.Column(data)
	if err == nil {
		_, err = t.exec("UPDATE trials SET cell = ?, data = ? WHERE id = ?", key, text, id)
	}
	if err == nil {
		_, err = t.exec("UPDATE cells SET key = ? WHERE trial = ?", key, id)
	}
	if err != nil {
		return fmt.Errorf("give trial %q the key of its cell: %w", id, err)
	}
	return nil
}

// EachTrial calls do with every trial of an execution by id, of which it has ID and Data alone. do makes no query.
func (t *Tx) EachTrial(spec string, execution int, do func(TrialRow) error) error {
	err := each(t, func(r row) (x TrialRow, err error) { return x, r.Scan(&x.ID, document{&x.Data}) }, do,
		"SELECT id, data FROM trials WHERE spec = ? AND execution = ? ORDER BY id", spec, execution)
	if err != nil {
		return fmt.Errorf("read trials of %q e%d: %w", spec, execution, err)
	}
	return nil
}

// OpenTrials returns the trials of all specs that have no status, by id.
func (t *Tx) OpenTrials() ([]TrialRow, error) {
	rows, err := list(t, scanTrial, "SELECT "+trialColumns+" FROM trials WHERE status = '' ORDER BY id")
	if err != nil {
		return nil, fmt.Errorf("read open trials: %w", err)
	}
	return rows, nil
}
