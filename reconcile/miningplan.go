package reconcile

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile/ledger"
	"github.com/assayd/assayd/reconcile/plan"
)

// previewMinings is the plan for all mining specs if those of the set were the ones in force,
// as text.
func (r *Reconciler) previewMinings(ctx context.Context, set *config.Set) (string, error) {
	var b strings.Builder
	for _, m := range set.Blocks.Minings {
		address := m.Address()
		state, err := ledger.MiningStateOf(ctx, r.o.Store, address)
		if err != nil {
			return "", err
		}
		switch {
		case state.Generation == m.Generation: // at work, over or cancelled
		case state == (ledger.MiningState{}):
			b.WriteString(plan.ForeseeMining(address))
		default:
			b.WriteString(plan.MiningAction(address, "begin", "the spec was edited"))
		}
	}
	for _, address := range slices.Sorted(maps.Keys(r.mines)) {
		switch {
		case set.Mining(strings.TrimPrefix(address, "mining.")) != nil:
		case r.miners[address] != nil:
			b.WriteString(plan.MiningAction(address, "stop", "the block is gone"))
		default:
			b.WriteString(plan.MiningAction(address, "forget", "no file declares it"))
		}
	}
	return b.String(), nil
}
