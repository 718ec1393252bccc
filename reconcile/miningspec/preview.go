package miningspec

import (
	"context"
	"strings"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile/ledger"
	"github.com/assayd/assayd/reconcile/plan"
)

// Preview is the plan for all mining specs if those of the set were the ones in force, as text.
func (m *Minings) Preview(ctx context.Context, set *config.Set) (string, error) {
	var b strings.Builder
	for _, spec := range set.Blocks.Minings {
		address := spec.Address()
		state, err := ledger.MiningStateOf(ctx, m.o.Store, address)
		if err != nil {
			return "", err
		}
		switch {
		case state.Generation == spec.Generation: // at work, over or cancelled
		case state == (ledger.MiningState{}):
			b.WriteString(plan.ForeseeMining(address))
		default:
			b.WriteString(plan.MiningAction(address, "begin", "the spec was edited"))
		}
	}
	for _, address := range m.Addresses() {
		switch {
		case set.Mining(nameOf(address)) != nil:
		case m.Works(address):
			b.WriteString(plan.MiningAction(address, "stop", "the block is gone"))
		default:
			b.WriteString(plan.MiningAction(address, "forget", "no file declares it"))
		}
	}
	return b.String(), nil
}
