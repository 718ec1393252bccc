package reconcile

import (
	"context"
	"time"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile/budget"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/clock"
)

// budgetsEvery is how often it is looked whether a budget of the settings is used up while nothing happens.
const budgetsEvery = time.Second

// hostBudget is what the settings let all models together cost.
func (o Options) hostBudget() config.HostBudget {
	if o.Config.Settings == nil {
		return config.HostBudget{}
	}
	return o.Config.Settings.Budget
}

// lookAtBudgets holds everything where a budget of the settings is used up, and ends that where they allow more.
func (h *holds) lookAtBudgets(ctx context.Context) error {
	limits, now := h.budget, clock.Now()
	if limits == (config.HostBudget{}) {
		return h.desk.Budget(ctx, nil)
	}
	var periods []budget.Period
	if err := h.store.View(ctx, func(tx *store.Tx) (err error) {
		periods, err = budget.Periods(tx, limits, now)
		return err
	}); err != nil {
		return err
	}
	return h.desk.Budget(ctx, budget.HoldOf(periods, now))
}
