package reconcile

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/judge"
	"github.com/assayd/assayd/runtime/trial"
)

// Ledger keeps the judge's submissions in the store and reports each verdict in the
// transaction that stores it.
type Ledger struct {
	store *store.Store
	turn  chan struct{} // held by who writes, so that lists change in the order of transactions
	long  longLists
}

// NewLedger returns the ledger of a store. Of those that write there is one.
func NewLedger(s *store.Store) *Ledger {
	return &Ledger{store: s, turn: make(chan struct{}, 1), long: longLists{least: longList}}
}

// Reserve implements judge.Ledger.
func (l *Ledger) Reserve(ctx context.Context, id string, decide func([]judge.Submission) (judge.Submission, error)) (judge.Submission, error) {
	var made judge.Submission
	err := l.write(ctx, func(tx *store.Tx) (changed list, err error) {
		past, err := l.submissions(tx, id)
		if err != nil {
			return changed, err
		}
		if made, err = decide(past); err != nil {
			return changed, err
		}
		row, err := submissionRow(made)
		if err != nil {
			return changed, err
		}
		if slices.ContainsFunc(past, func(p judge.Submission) bool { return p.ID == made.ID }) { // a reservation that is taken over
			if err := tx.DeleteSubmission(made.ID); err != nil {
				return changed, err
			}
		}
		if _, err := tx.InsertSubmission(row); err != nil {
			return changed, err
		}
		brief, err := briefly(row)
		return list{id, append(lacking(past, made.ID), brief)}, err
	})
	return made, err
}

// Update implements judge.Ledger.
func (l *Ledger) Update(ctx context.Context, id string, change func(*judge.Submission) error) (judge.Submission, error) {
	var sub judge.Submission
	err := l.write(ctx, func(tx *store.Tx) (changed list, err error) {
		if sub, err = wholeSubmission(tx, id); err != nil {
			return changed, err
		}
		before := sub.State
		if err := change(&sub); err != nil {
			return changed, err
		}
		row, err := submissionRow(sub)
		if err != nil {
			return changed, err
		}
		if err := tx.UpdateSubmission(row); err != nil {
			return changed, err
		}
		if sub.State == judge.StateJudged && before != judge.StateJudged {
			if err := report(tx, sub); err != nil {
				return changed, err
			}
		}
		brief, err := briefly(row)
		return list{row.Trial, replacing(l.long.get(row.Trial), brief)}, err
	})
	return sub, err
}

// Release implements judge.Ledger.
func (l *Ledger) Release(ctx context.Context, id string) error {
	return l.write(ctx, func(tx *store.Tx) (changed list, err error) {
		row, err := tx.Submission(id)
		if errors.Is(err, store.ErrNotFound) {
			return changed, nil
		}
		if err != nil {
			return changed, err
		}
		return list{row.Trial, lacking(l.long.get(row.Trial), id)}, tx.DeleteSubmission(id)
	})
}

// write runs fn in a transaction of its own, and keeps the list that it changed once that is
// durable.
func (l *Ledger) write(ctx context.Context, fn func(*store.Tx) (list, error)) error {
	select {
	case l.turn <- struct{}{}:
		defer func() { <-l.turn }()
	case <-ctx.Done():
		return fmt.Errorf("wait for a turn to write submissions: %w", context.Cause(ctx))
	}
	var changed list
	done := false
	err := l.store.Do(ctx, func(tx *store.Tx) (err error) {
		changed, err = fn(tx)
		done = err == nil
		return err
	})
	switch {
	case err == nil:
		l.long.keep(changed)
	case done: // and nobody knows whether it is stored
		l.long.forget(changed.trial)
	}
	return err
}

// Submission implements judge.Ledger.
func (l *Ledger) Submission(ctx context.Context, id string) (s judge.Submission, err error) {
	err = l.store.View(ctx, func(tx *store.Tx) error {
		s, err = wholeSubmission(tx, id)
		return err
	})
	if errors.Is(err, store.ErrNotFound) {
		err = fmt.Errorf("%w: %w", fs.ErrNotExist, err)
	}
	return s, err
}

// Submissions implements judge.Ledger.
func (l *Ledger) Submissions(ctx context.Context, id string) (subs []judge.Submission, err error) {
	if subs := l.long.get(id); subs != nil {
		return slices.Clone(subs), nil
	}
	err = l.store.View(ctx, func(tx *store.Tx) error {
		subs, err = submissions(tx, id)
		return err
	})
	return subs, err
}

// submissions are those of a trial, for who writes.
func (l *Ledger) submissions(tx *store.Tx, id string) ([]judge.Submission, error) {
	if subs := l.long.get(id); subs != nil {
		return subs, nil
	}
	return submissions(tx, id)
}

// wholeSubmission reads one with the tests of its report, which the row keeps apart.
func wholeSubmission(tx *store.Tx, id string) (s judge.Submission, err error) {
	row, err := tx.Submission(id)
	if err != nil {
		return s, err
	}
	if s, err = briefly(row); err != nil {
		return s, err
	}
	if s.Report != nil && len(row.Detail) > 0 {
		if err := json.Unmarshal(row.Detail, &s.Report.Tests); err != nil {
			return s, fmt.Errorf("read the tests of submission %s: %w", id, err)
		}
	}
	return s, nil
}

// submissions reads those of a trial, without the tests of their reports.
func submissions(tx *store.Tx, id string) ([]judge.Submission, error) {
	rows, err := tx.Submissions(id)
	if err != nil {
		return nil, err
	}
	subs := make([]judge.Submission, len(rows))
	for i, row := range rows {
		if subs[i], err = briefly(row); err != nil {
			return nil, err
		}
	}
	return subs, nil
}

// briefly reads one without the tests of its report.
func briefly(row store.SubmissionRow) (s judge.Submission, err error) {
	if err := json.Unmarshal(row.Data, &s); err != nil {
		return s, fmt.Errorf("read submission %s: %w", row.ID, err)
	}
	return s, nil
}

func submissionRow(s judge.Submission) (row store.SubmissionRow, err error) {
	if s.Report != nil && len(s.Report.Tests) > 0 {
		if row.Detail, err = json.Marshal(s.Report.Tests); err != nil {
			return row, fmt.Errorf("encode the tests of submission %s: %w", s.ID, err)
		}
		brief := *s.Report
		brief.Tests, s.Report = nil, &brief
	}
	if row.Data, err = json.Marshal(s); err != nil {
		return row, fmt.Errorf("encode submission %s: %w", s.ID, err)
	}
	row.ID, row.Trial, row.Kind, row.Number, row.State = s.ID, s.Trial, string(s.Kind), s.Number, string(s.State)
	if s.Key != "" { // a key counts within a try and a kind: an agent cannot take the daemon's
		row.Key = fmt.Sprintf("%d/%s/%s", s.Try, s.Kind, s.Key)
	}
	return row, nil
}

// unjudged takes what a former daemon left: reservations whose archive never arrived are
// forgotten, the others are returned to be judged.
func (l *Ledger) unjudged(ctx context.Context) (subs []judge.Submission, err error) {
	err = l.store.Do(ctx, func(tx *store.Tx) error {
		rows, err := tx.SubmissionsInState(string(judge.StateReserved), string(judge.StateQueued), string(judge.StateRunning))
		if err != nil {
			return err
		}
		for _, row := range rows {
			if row.State == string(judge.StateReserved) {
				if err := tx.DeleteSubmission(row.ID); err != nil {
					return err
				}
				continue
			}
			s, err := briefly(row)
			if err != nil {
				return err
			}
			subs = append(subs, s)
		}
		return nil
	})
	return subs, err
}

// submissionRecord is the record "submission".
type submissionRecord struct {
	Trial      string       `json:"trial"`
	Try        int          `json:"try"`
	Round      string       `json:"round"`
	Kind       judge.Kind   `json:"kind"`
	Status     judge.Status `json:"status"`
	PassRate   float64      `json:"pass_rate"`
	Score      *float64     `json:"score"`
	Score100   *float64     `json:"score_0_100"`
	Valid      bool         `json:"valid"`
	Passed     int          `json:"passed"`
	Failed     int          `json:"failed"`
	Errors     int          `json:"errors"`
	TotalTests int          `json:"total_tests"`
	Summary    string       `json:"summary"`
	ElapsedS   float64      `json:"elapsed_s"`
	QueuedMS   int64        `json:"queued_ms"`
	JudgeMS    int64        `json:"judge_ms"`
	DurationMS int64        `json:"duration_ms"`
	Archive    archive      `json:"archive"`
	Cached     bool         `json:"cached"`
	Isolation  string       `json:"isolation"`
	Tampered   bool         `json:"tampered"`
	Problem    string       `json:"problem,omitempty"`
}

type archive struct {
	SHA256 string `json:"sha256"`
	Bytes  int64  `json:"bytes"`
}

// report appends a verdict to the results of the trial's run. A submission that belongs
// to no trial has no file to be reported in; what the private set or the untouched tree says
// is told with the trial's verdict.
func report(tx *store.Tx, s judge.Submission) error {
	if s.Kind.Apart() {
		return nil
	}
	if err := putRound(tx, s); err != nil {
		return err
	}
	row, err := tx.Trial(s.Trial)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	state, err := stateOf(row)
	if err != nil {
		return err
	}
	r := s.Report
	_, err = tx.AppendLine(store.StreamRef{Spec: row.Spec}, envelope("submission", state), submissionRecord{
		Trial: s.Trial, Try: s.Try, Round: s.Round, Kind: s.Kind, Status: r.Status, PassRate: r.PassRate, Score: r.Score,
		Score100: r.Score100, Valid: r.Valid, Passed: r.Passed, Failed: r.Failed, Errors: r.Errors, TotalTests: r.TotalTests,
		Summary: r.Summary, ElapsedS: float64(s.AcceptedAt.Sub(state.StartedAt).Milliseconds()) / 1000,
		QueuedMS: r.QueuedMS, JudgeMS: r.JudgeMS, DurationMS: r.DurationMS, Archive: archive{s.Archive, s.Bytes},
		Cached: r.Cached, Isolation: r.Isolation, Tampered: r.Tampered, Problem: r.Problem,
	})
	return err
}

func envelope(typ string, s trial.State) store.Envelope {
	return store.Envelope{Type: typ, Spec: s.Spec, Generation: s.Generation, Execution: s.Execution}
}

func stateOf(row store.TrialRow) (trial.State, error) {
	var s trial.State
	if err := json.Unmarshal(row.Data, &s); err != nil {
		return s, fmt.Errorf("read trial %s: %w", row.ID, err)
	}
	return s, nil
}
