package store

import (
	"encoding/json"
	"fmt"
	"strings"
)

// SubmissionRow is one archive sent to the judge.
type SubmissionRow struct {
	ID     string
	Trial  string // need not be a stored trial: an archive can be judged without one
	N      int    // order of insertion over all trials; set by InsertSubmission
	Kind   string
	Number int    // of its kind within the trial
	Key    string // idempotency key; unique within the trial unless ""
	State  string
	Data   json.RawMessage
	Detail json.RawMessage // what is large and seldom read; only Submission returns it
}

const submissionColumns = "id, trial, n, kind, number, key, state, data"

func scanSubmission(r row) (x SubmissionRow, err error) {
	return x, r.Scan(&x.ID, &x.Trial, &x.N, &x.Kind, &x.Number, &x.Key, &x.State, document{&x.Data})
}

func scanWholeSubmission(r row) (x SubmissionRow, err error) {
	return x, r.Scan(&x.ID, &x.Trial, &x.N, &x.Kind, &x.Number, &x.Key, &x.State, document{&x.Data}, document{&x.Detail})
}

func (t *Tx) submissionDocuments(x SubmissionRow) (data, detail any, err error) {
	if data, err = t.store.encoder.Column(x.Data); err != nil {
		return nil, nil, err
	}
	detail, err = t.store.encoder.Column(x.Detail)
	return data, detail, err
}

// InsertSubmission stores a new submission and returns it with its N. It fails with
// ErrExists when the id, or the key within the trial, is taken.
func (t *Tx) InsertSubmission(x SubmissionRow) (SubmissionRow, error) {
	data, detail, err := t.submissionDocuments(x)
	if err == nil {
		x.N, err = one(t, scanInt, `INSERT INTO submissions (id, trial, kind, number, key, state, data, detail)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?) RETURNING n`, x.ID, x.Trial, x.Kind, x.Number, x.Key, x.State, data, detail)
	}
	if err != nil {
		return x, fmt.Errorf("store submission %q of trial %q: %w", x.ID, x.Trial, err)
	}
	return x, nil
}

// UpdateSubmission stores what may change of a submission: kind, number, state, data and
// detail.
// It fails with ErrNotFound when there is none of that id.
func (t *Tx) UpdateSubmission(x SubmissionRow) error {
	data, detail, err := t.submissionDocuments(x)
	if err != nil {
		return fmt.Errorf("update submission %q: %w", x.ID, err)
	}
	n, err := t.exec("UPDATE submissions SET kind = ?, number = ?, state = ?, data = ?, detail = ? WHERE id = ?",
		x.Kind, x.Number, x.State, data, detail, x.ID)
	if err == nil && n == 0 {
		err = ErrNotFound
	}
	if err != nil {
		return fmt.Errorf("update submission %q: %w", x.ID, err)
	}
	return nil
}

// DeleteSubmission forgets a submission; one that is not there is fine.
func (t *Tx) DeleteSubmission(id string) error {
	if _, err := t.exec("DELETE FROM submissions WHERE id = ?", id); err != nil {
		return fmt.Errorf("forget submission %q: %w", id, err)
	}
	return nil
}

// Submission returns a submission with its detail, or ErrNotFound.
func (t *Tx) Submission(id string) (SubmissionRow, error) {
	x, err := one(t, scanWholeSubmission, "SELECT "+submissionColumns+", detail FROM submissions WHERE id = ?", id)
	if err != nil {
		return x, fmt.Errorf("submission %q: %w", id, err)
	}
	return x, nil
}

// Submissions returns all submissions of a trial in order of insertion, without detail.
func (t *Tx) Submissions(trial string) ([]SubmissionRow, error) {
	rows, err := list(t, scanSubmission, "SELECT "+submissionColumns+" FROM submissions WHERE trial = ? ORDER BY n", trial)
	if err != nil {
		return nil, fmt.Errorf("read submissions of trial %q: %w", trial, err)
	}
	return rows, nil
}

// EachSubmission calls do with every submission of an execution, of which it has ID, Trial and Data alone:
// those of one trial in order of insertion. do makes no query.
func (t *Tx) EachSubmission(spec string, execution int, do func(SubmissionRow) error) error {
	err := each(t, func(r row) (x SubmissionRow, err error) {
		return x, r.Scan(&x.ID, &x.Trial, document{&x.Data})
	}, do, `SELECT s.id, s.trial, s.data FROM trials AS t CROSS JOIN submissions AS s ON s.trial = t.id
		WHERE t.spec = ? AND t.execution = ? ORDER BY t.id, s.n`, spec, execution)
	if err != nil {
		return fmt.Errorf("read submissions of %q e%d: %w", spec, execution, err)
	}
	return nil
}

// SubmissionsInState returns the submissions of all trials in one of states, in order of
// insertion, without detail.
func (t *Tx) SubmissionsInState(states ...string) ([]SubmissionRow, error) {
	if len(states) == 0 {
		return nil, nil
	}
	args := make([]any, len(states))
	for i, s := range states {
		args[i] = s
	}
	places := strings.Repeat(", ?", len(states))[2:]
	rows, err := list(t, scanSubmission,
		"SELECT "+submissionColumns+" FROM submissions WHERE state IN ("+places+") ORDER BY n", args...)
	if err != nil {
		return nil, fmt.Errorf("read submissions in state %s: %w", strings.Join(states, ", "), err)
	}
	return rows, nil
}
