package reconcile

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/assayd/assayd/config"
)

// ForeseeMining is the plan for a mining spec of which nothing exists, as text.
func ForeseeMining(address string) string { return miningPlan(address, "begin", "the spec is new") }

func miningPlan(address, what, cause string) string {
	return fmt.Sprintf("%s: %s (%s)\n", address, what, cause)
}

// previewMinings is the plan for all mining specs if those of the set were the ones in force,
// as text.
func (r *Reconciler) previewMinings(ctx context.Context, set *config.Set) (string, error) {
	var b strings.Builder
	for _, m := range set.Blocks.Minings {
		address := m.Address()
		state, err := r.miningState(ctx, address)
		if err != nil {
			return "", err
		}
		switch {
		case state.Generation == m.Generation: // at work, over or cancelled
		case state == miningState{}:
			b.WriteString(ForeseeMining(address))
		default:
			b.WriteString(miningPlan(address, "begin", "the spec was edited"))
		}
	}
	for _, address := range slices.Sorted(maps.Keys(r.mines)) {
		switch {
		case set.Mining(strings.TrimPrefix(address, "mining.")) != nil:
		case r.miners[address] != nil:
			b.WriteString(miningPlan(address, "stop", "the block is gone"))
		default:
			b.WriteString(miningPlan(address, "forget", "no file declares it"))
		}
	}
	return b.String(), nil
}
