package query

import (
	"context"
	"errors"
	"fmt"

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

// Lines is a page of a run's result lines from seq on, at most limit, for followers.
func (r *Reader) Lines(ctx context.Context, address string, seq, limit int) (lines []store.Line, err error) {
	if err := request.NeedsContent(ctx, "records"); err != nil {
		return nil, err
	}
	recorded := false
	err = r.o.Store.View(ctx, func(tx *store.Tx) error {
		stream, err := tx.Stream(address)
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		recorded = true
		lines, err = tx.LinesFrom(stream.ID, seq, limit)
		return err
	})
	if err != nil || recorded {
		return lines, err
	}
	now, err := r.Snapshots.Wait(ctx)
	if err != nil || now.Run(address).Desired != nil || now.Mines(address) { // it may have no records yet
		return nil, err
	}
	return nil, fmt.Errorf("%w: %s%s", history.ErrUnknown, address, request.Suggest(address, now.Addresses()))
}
