package query

import (
	"context"
	"errors"
	"fmt"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile/history"
	"github.com/assayd/assayd/reconcile/query/snapshot"
	"github.com/assayd/assayd/reconcile/request"
	"github.com/assayd/assayd/reconcile/store"
)

// SpecsFor returns the specs in force, or what these files say by themselves.
func (r *Reader) SpecsFor(ctx context.Context, files []string) (set *config.Set, ds config.Diagnostics, err error) {
	if len(files) == 0 {
		now, err := r.Snapshots.Wait(ctx)
		if err != nil {
			return nil, nil, err
		}
		set = now.Set
		if set == nil {
			return nil, nil, errors.New("the specs have not been read yet")
		}
		return set, nil, nil
	}
	inputs, err := config.ReadAll(files)
	if err != nil {
		return nil, nil, request.Mistakef("read specs: %w", err)
	}
	r.FetchImports(ctx, config.Imports(inputs, r.o.Config), func(Fetch) {})
	set = config.Load(inputs, nil, r.o.Config)
	return set, set.Diagnostics, nil
}

// RunNamed finds the run that a name means, and the cell when it is a trial's.
func (r *Reader) RunNamed(ctx context.Context, now *snapshot.Snapshot, name string) (address, cell string, err error) {
	if now.Knows(name) {
		return name, "", nil
	}
	err = r.o.Store.View(ctx, func(tx *store.Tx) error {
		row, err := tx.Trial(name)
		if errors.Is(err, store.ErrNotFound) {
			return fmt.Errorf("%w: %s%s", history.ErrUnknown, name, request.Suggest(name, now.Addresses()))
		}
		address, cell = row.Spec, row.Cell
		return err
	})
	return address, cell, err
}
