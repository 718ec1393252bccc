package history

import (
	"context"
	"fmt"

	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/trial"
)

// OpenTrials are the trials of all runs that are under way, by id.
func OpenTrials(ctx context.Context, s *store.Store) (states []trial.State, err error) {
	err = s.View(ctx, func(tx *store.Tx) error {
		rows, err := tx.OpenTrials()
		if err != nil {
			return err
		}
		for _, row := range rows {
			state, err := StateOf(row)
			if err != nil {
				return err
			}
			states = append(states, state)
		}
		return nil
	})
	return states, err
}

// PinKey is where it is stored what an image's name means in an execution.
func PinKey(spec string, execution int, ref string) string {
	return fmt.Sprintf("image/%s/e%d/%s", spec, execution, ref)
}
