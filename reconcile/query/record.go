package query

import (
	"context"
	"errors"

	"github.com/assayd/assayd/reconcile/history"
	"github.com/assayd/assayd/reconcile/request"
	"github.com/assayd/assayd/reconcile/store"
)

// Records returns the trials of a run's last execution, or the trial of that name.
func (r *Reader) Records(ctx context.Context, name string) (records []history.TrialRecord, err error) {
	if err := request.NeedsContent(ctx, "records"); err != nil {
		return nil, err
	}
	now, err := r.Snapshots.Wait(ctx)
	if err != nil {
		return nil, err
	}
	address, cell, err := r.RunNamed(ctx, now, name)
	if err != nil {
		return nil, err
	}
	if cell == "" {
		run, err := history.Records(ctx, r.o.Store, address, 0)
		if errors.Is(err, history.ErrUnknown) {
			return nil, nil // it is declared, and has not begun
		}
		return run.Trials, err
	}
	err = r.o.Store.View(ctx, func(tx *store.Tx) error {
		row, err := tx.Trial(name)
		if err != nil {
			return err
		}
		s, err := history.StateOf(row)
		if err != nil {
			return err
		}
		record, err := history.TrialRecordOf(tx, s)
		records = append(records, record)
		return err
	})
	return records, err
}
