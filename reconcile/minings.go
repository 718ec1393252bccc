package reconcile

import (
	"context"
	"time"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile/miningspec"
)

// minings are the mining specs as the loop looks at them. They belong to the loop's goroutine.
type minings struct {
	all    *miningspec.Minings
	runs   *runs
	drain  *drain
	forget func(ctx context.Context, address string) error // ends what is known of a spec that is gone
}

// adopt has every mining spec looked at, those that are gone too.
func (m *minings) adopt(ctx context.Context, set *config.Set, now time.Time) {
	gone := m.all.Declare(ctx, set)
	for _, spec := range set.Blocks.Minings {
		delete(m.runs.gone, spec.Address())
		m.runs.queue.Add(spec.Address(), now)
	}
	for _, address := range gone {
		m.runs.miss(address, now)
	}
}

// reconcile makes one pass over a mining spec: it is begun, begun anew, or stopped.
func (m *minings) reconcile(ctx context.Context, address string) error {
	switch {
	case m.runs.specs.Mining(address) != nil:
		return m.all.Look(ctx, address, !m.drain.on)
	case !m.all.Works(address):
		m.all.Forget(address)
		return m.forget(ctx, address)
	case !m.runs.graced(address):
		m.all.Stop(address)
	}
	return nil
}
