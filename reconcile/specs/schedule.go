package specs

import (
	"time"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile/history"
	"github.com/assayd/assayd/reconcile/plan"
	"github.com/assayd/assayd/reconcile/store"
)

// settleSchedules remembers since when each schedule counts: firings from before it was
// accepted were not missed.
func settleSchedules(tx *store.Tx, set *config.Set, moved func(config.Block) bool, now time.Time) error {
	for _, run := range set.Blocks.Runs {
		if !moved(run.Block) {
			continue
		}
		key := history.ScheduleKey(run.Address())
		old, err := tx.Meta(key)
		if err != nil {
			return err
		}
		if old == run.Schedule {
			continue
		}
		if err := tx.PutMeta(key, run.Schedule); err != nil {
			return err
		}
		if err := tx.PutMeta(history.FiredKey(run.Address()), plan.Stamp(now)); err != nil {
			return err
		}
	}
	return nil
}
