package store

import (
	"cmp"
	"fmt"
	"math"
	"strings"
)

// pagesSchema has an index for each list of which a page is read: what lies before and behind the
// page is not touched.
const pagesSchema = `
CREATE INDEX pulls_alike ON pulls (spec, verdict, stage, reason);
CREATE INDEX pulls_spec ON pulls (spec);
CREATE INDEX submissions_round ON submissions (trial, kind, number);
`

// ExecutionsBefore returns at most limit executions of spec that are older than the one numbered
// before, the latest first; 0 is before none. Data is left out.
func (t *Tx) ExecutionsBefore(spec string, before, limit int) ([]ExecutionRow, error) {
	rows, err := list(t, func(r row) (e ExecutionRow, err error) {
		return e, r.Scan(&e.Spec, &e.N, &e.Trigger, moment{&e.StartedAt}, moment{&e.SettledAt}, moment{&e.FinishedAt})
	}, `SELECT spec, n, trigger, started_at, settled_at, finished_at FROM executions
		WHERE spec = ?1 AND n < ?2 ORDER BY n DESC LIMIT ?3`, spec, cmp.Or(before, math.MaxInt), limit)
	if err != nil {
		return nil, fmt.Errorf("read executions of %q: %w", spec, err)
	}
	return rows, nil
}

// SubmissionsAfter returns at most limit submissions of a trial behind the one numbered after, in
// order of insertion, without detail.
func (t *Tx) SubmissionsAfter(trial string, after, limit int) ([]SubmissionRow, error) {
	rows, err := list(t, scanSubmission,
		"SELECT "+submissionColumns+" FROM submissions WHERE trial = ? AND n > ? ORDER BY n LIMIT ?", trial, after, limit)
	if err != nil {
		return nil, fmt.Errorf("read submissions of trial %q: %w", trial, err)
	}
	return rows, nil
}

// SubmissionOf returns the submission of a trial that has the number of its kind, without detail, or
// ErrNotFound.
func (t *Tx) SubmissionOf(trial, kind string, number int) (SubmissionRow, error) {
	x, err := one(t, scanSubmission,
		"SELECT "+submissionColumns+" FROM submissions WHERE trial = ? AND kind = ? AND number = ?", trial, kind, number)
	if err != nil {
		return x, fmt.Errorf("submission %s-%d of trial %q: %w", kind, number, trial, err)
	}
	return x, nil
}

// PullFilter narrows pull requests down. A nil member lets all through; a Verdict of "" lets open
// ones through.
type PullFilter struct{ Verdict, Stage, Reason *string }

func (f PullFilter) passes(c PullCount) bool {
	is := func(want *string, got string) bool { return want == nil || *want == got }
	return is(f.Verdict, c.Verdict) && is(f.Stage, c.Stage) && is(f.Reason, c.Reason)
}

// PullsBefore returns at most limit pull requests of a spec that were seen before the one numbered
// before, the latest first; 0 is before none. Of millions it reads no more than that, however few
// the filter lets through: the counts tell which verdicts, stages, and reasons there are together,
// and the pull requests of each of these are in the order of an index.
func (t *Tx) PullsBefore(spec string, f PullFilter, before int64, limit int) ([]PullRow, error) {
	query, args, err := t.pullsQuery(spec, f, before, limit)
	if err != nil || query == "" {
		return nil, err
	}
	rows, err := list(t, scanPull, query, args...)
	if err != nil {
		return nil, fmt.Errorf("read pull requests of %q: %w", spec, err)
	}
	return rows, nil
}

// pullsQuery is "" where nothing can be found.
func (t *Tx) pullsQuery(spec string, f PullFilter, before int64, limit int) (query string, args []any, err error) {
	args = []any{spec, cmp.Or(before, math.MaxInt64), limit}
	if f == (PullFilter{}) {
		return "SELECT " + pullColumns + " FROM pulls INDEXED BY pulls_spec WHERE spec = ?1 AND n < ?2 ORDER BY n DESC LIMIT ?3", args, nil
	}
	counts, err := t.PullCounts(spec)
	if err != nil {
		return "", nil, err
	}
	var alike []string
	known := map[[3]string]bool{} // the counts tell classes apart, too
	for _, c := range counts {
		key := [3]string{c.Verdict, c.Stage, c.Reason}
		if !f.passes(c) || known[key] {
			continue
		}
		known[key] = true
		n := len(args)
		args = append(args, c.Verdict, c.Stage, c.Reason)
		alike = append(alike, fmt.Sprintf(`SELECT * FROM (SELECT %s FROM pulls INDEXED BY pulls_alike
			WHERE spec = ?1 AND verdict = ?%d AND stage = ?%d AND reason = ?%d AND n < ?2 ORDER BY n DESC LIMIT ?3)`,
			pullColumns, n+1, n+2, n+3))
	}
	if len(alike) == 0 {
		return "", nil, nil
	}
	return strings.Join(alike, " UNION ALL ") + " ORDER BY n DESC LIMIT ?3", args, nil
}
