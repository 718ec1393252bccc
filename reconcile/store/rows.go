package store

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/assayd/assayd/reconcile/store/change"
)

// FileRow is a spec file as it was last accepted.
type FileRow struct {
	Path       string // of the file
	Root       string // the watched directory it is under
	Hash       string // of its text
	Compiled   json.RawMessage
	AcceptedAt time.Time
}

// PutFile stores f in place of what its path had.
func (t *Tx) PutFile(f FileRow) error {
	compiled, err := t.store.encoder.Column(f.Compiled)
	if err == nil {
		_, err = t.exec(`INSERT INTO files (path, root, hash, compiled, accepted_at) VALUES (?, ?, ?, ?, ?)
			ON CONFLICT (path) DO UPDATE SET root = excluded.root, hash = excluded.hash,
				compiled = excluded.compiled, accepted_at = excluded.accepted_at`,
			f.Path, f.Root, f.Hash, compiled, nanos(f.AcceptedAt))
	}
	if err == nil {
		err = t.touchTopic(change.SpecFiles, change.Files)
	}
	if err != nil {
		return fmt.Errorf("store file %q: %w", f.Path, err)
	}
	return nil
}

// Files returns all accepted files by path.
func (t *Tx) Files() ([]FileRow, error) {
	rows, err := list(t, func(r row) (f FileRow, err error) {
		return f, r.Scan(&f.Path, &f.Root, &f.Hash, document{&f.Compiled}, moment{&f.AcceptedAt})
	}, "SELECT path, root, hash, compiled, accepted_at FROM files ORDER BY path")
	if err != nil {
		return nil, fmt.Errorf("read files: %w", err)
	}
	return rows, nil
}

// DeleteFile forgets a file; one that is not there is fine.
func (t *Tx) DeleteFile(path string) error {
	_, err := t.exec("DELETE FROM files WHERE path = ?", path)
	if err == nil {
		err = t.touchTopic(change.SpecFiles, change.Files)
	}
	if err != nil {
		return fmt.Errorf("forget file %q: %w", path, err)
	}
	return nil
}

// ExecutionRow is one doing of a run.
type ExecutionRow struct {
	Spec       string // address of the run
	N          int    // 1 for e1
	Trigger    string // accepted, schedule or rerun
	StartedAt  time.Time
	SettledAt  time.Time // zero while a known cell is open
	FinishedAt time.Time // zero while it is open
	Data       json.RawMessage
}

const executionColumns = "spec, n, trigger, started_at, settled_at, finished_at, data"

func scanExecution(r row) (e ExecutionRow, err error) {
	return e, r.Scan(&e.Spec, &e.N, &e.Trigger,
		moment{&e.StartedAt}, moment{&e.SettledAt}, moment{&e.FinishedAt}, document{&e.Data})
}

// PutExecution stores e in place of what its spec and number had.
func (t *Tx) PutExecution(e ExecutionRow) error {
	data, err := t.store.encoder.Column(e.Data)
	if err == nil {
		_, err = t.exec(`INSERT INTO executions (`+executionColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT (spec, n) DO UPDATE SET trigger = excluded.trigger, started_at = excluded.started_at,
				settled_at = excluded.settled_at, finished_at = excluded.finished_at, data = excluded.data`,
			e.Spec, e.N, e.Trigger, nanos(e.StartedAt), nanos(e.SettledAt), nanos(e.FinishedAt), data)
	}
	if err != nil {
		return fmt.Errorf("store execution e%d of %q: %w", e.N, e.Spec, err)
	}
	return nil
}

// AllExecutions returns the executions of all specs, by spec and in order.
func (t *Tx) AllExecutions() ([]ExecutionRow, error) {
	rows, err := list(t, scanExecution, "SELECT "+executionColumns+" FROM executions ORDER BY spec, n")
	if err != nil {
		return nil, fmt.Errorf("read all executions: %w", err)
	}
	return rows, nil
}

// LatestExecution returns the newest execution of spec, or ErrNotFound.
func (t *Tx) LatestExecution(spec string) (ExecutionRow, error) {
	e, err := one(t, scanExecution,
		"SELECT "+executionColumns+" FROM executions WHERE spec = ? ORDER BY n DESC LIMIT 1", spec)
	if err != nil {
		return e, fmt.Errorf("latest execution of %q: %w", spec, err)
	}
	return e, nil
}

// OpenSpecs returns at most limit specs with an execution that is open, in order.
func (t *Tx) OpenSpecs(limit int) ([]string, error) {
	specs, err := list(t, scanString, "SELECT DISTINCT spec FROM executions WHERE finished_at = 0 ORDER BY spec LIMIT ?", limit)
	if err != nil {
		return nil, fmt.Errorf("read which specs work: %w", err)
	}
	return specs, nil
}

// OpenExecutions returns the executions of all specs that have not finished.
func (t *Tx) OpenExecutions() ([]ExecutionRow, error) {
	rows, err := list(t, scanExecution,
		"SELECT "+executionColumns+" FROM executions WHERE finished_at = 0 ORDER BY spec, n")
	if err != nil {
		return nil, fmt.Errorf("read open executions: %w", err)
	}
	return rows, nil
}
