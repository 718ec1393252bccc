package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/judge/round"
)

// Submissions keeps the judge's submissions in the store. It implements round.Ledger.
type Submissions struct {
	store  *store.Store
	judged func(*store.Tx, round.Submission) error // called for each verdict, in the transaction that stores it
	turn   chan struct{}                           // held by the one who writes, so that lists change in the order of transactions
	long   longLists
}

// NewSubmissions returns the submissions of a store. A store has at most one that writes.
func NewSubmissions(s *store.Store, judged func(*store.Tx, round.Submission) error) *Submissions {
	return &Submissions{store: s, judged: judged, turn: make(chan struct{}, 1), long: longLists{least: longList}}
}

// Reserve implements round.Ledger.
func (l *Submissions) Reserve(ctx context.Context, id string, decide func([]round.Submission) (round.Submission, error)) (round.Submission, error) {
	var made round.Submission
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
		if slices.ContainsFunc(past, func(p round.Submission) bool { return p.ID == made.ID }) { // a reservation that is taken over
			if err := tx.DeleteSubmission(made.ID); err != nil {
				return changed, err
			}
		}
		if _, err := tx.InsertSubmission(row); err != nil {
			return changed, err
		}
		brief, err := Decode(row)
		return list{id, append(lacking(past, made.ID), brief)}, err
	})
	return made, err
}

// Update implements round.Ledger.
func (l *Submissions) Update(ctx context.Context, id string, change func(*round.Submission) error) (round.Submission, error) {
	var sub round.Submission
	err := l.write(ctx, func(tx *store.Tx) (changed list, err error) {
		if sub, err = Whole(tx, id); err != nil {
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
		if sub.State == round.StateJudged && before != round.StateJudged {
			if err := l.judged(tx, sub); err != nil {
				return changed, err
			}
		}
		brief, err := Decode(row)
		return list{row.Trial, replacing(l.long.get(row.Trial), brief)}, err
	})
	return sub, err
}

// Release implements round.Ledger.
func (l *Submissions) Release(ctx context.Context, id string) error {
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
func (l *Submissions) write(ctx context.Context, fn func(*store.Tx) (list, error)) error {
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

// Submission implements round.Ledger.
func (l *Submissions) Submission(ctx context.Context, id string) (s round.Submission, err error) {
	err = l.store.View(ctx, func(tx *store.Tx) error {
		s, err = Whole(tx, id)
		return err
	})
	if errors.Is(err, store.ErrNotFound) {
		err = fmt.Errorf("%w: %w", fs.ErrNotExist, err)
	}
	return s, err
}

// Submissions implements round.Ledger.
func (l *Submissions) Submissions(ctx context.Context, id string) (subs []round.Submission, err error) {
	if subs := l.long.get(id); subs != nil {
		return slices.Clone(subs), nil
	}
	err = l.store.View(ctx, func(tx *store.Tx) error {
		subs, err = OfTrial(tx, id)
		return err
	})
	return subs, err
}

// submissions are those of a trial, for who writes.
func (l *Submissions) submissions(tx *store.Tx, id string) ([]round.Submission, error) {
	if subs := l.long.get(id); subs != nil {
		return subs, nil
	}
	return OfTrial(tx, id)
}

// Whole reads one with the tests of its report, which the row keeps apart.
func Whole(tx *store.Tx, id string) (s round.Submission, err error) {
	row, err := tx.Submission(id)
	if err != nil {
		return s, err
	}
	if s, err = Decode(row); err != nil {
		return s, err
	}
	if s.Report != nil && len(row.Detail) > 0 {
		if err := json.Unmarshal(row.Detail, &s.Report.Tests); err != nil {
			return s, fmt.Errorf("read the tests of submission %s: %w", id, err)
		}
	}
	return s, nil
}

// OfTrial reads those of a trial, without the tests of their reports.
func OfTrial(tx *store.Tx, id string) ([]round.Submission, error) {
	rows, err := tx.Submissions(id)
	if err != nil {
		return nil, err
	}
	subs := make([]round.Submission, len(rows))
	for i, row := range rows {
		if subs[i], err = Decode(row); err != nil {
			return nil, err
		}
	}
	return subs, nil
}

// Decode reads one without the tests of its report.
func Decode(row store.SubmissionRow) (s round.Submission, err error) {
	if err := json.Unmarshal(row.Data, &s); err != nil {
		return s, fmt.Errorf("read submission %s: %w", row.ID, err)
	}
	return s, nil
}

func submissionRow(s round.Submission) (row store.SubmissionRow, err error) {
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

// Unjudged takes what a former daemon left: reservations whose archive never arrived are
// forgotten, the others are returned to be judged.
func (l *Submissions) Unjudged(ctx context.Context) (subs []round.Submission, err error) {
	err = l.store.Do(ctx, func(tx *store.Tx) error {
		rows, err := tx.SubmissionsInState(string(round.StateReserved), string(round.StateQueued), string(round.StateRunning))
		if err != nil {
			return err
		}
		for _, row := range rows {
			if row.State == string(round.StateReserved) {
				if err := tx.DeleteSubmission(row.ID); err != nil {
					return err
				}
				continue
			}
			s, err := Decode(row)
			if err != nil {
				return err
			}
			subs = append(subs, s)
		}
		return nil
	})
	return subs, err
}
