package reconcile

import (
	"context"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile/miningspec"
)

// InForce compiles what was accepted last, without a look at the files, with what was mined.
func InForce(ctx context.Context, o Options) (*config.Set, error) {
	o.Config.Mined = config.NewMined()
	r := &Reconciler{o: o}
	if err := miningspec.LoadMined(ctx, o.Store, o.Config.Mined); err != nil {
		return nil, err
	}
	previous, err := r.accepted(ctx)
	if err != nil {
		return nil, err
	}
	return asAccepted(previous, o.Config), nil
}

// asAccepted is what was accepted, of files that nobody looks at.
func asAccepted(previous config.Previous, o config.Options) *config.Set {
	var inputs []config.Input
	for path, c := range previous {
		inputs = append(inputs, config.Input{Path: path, Display: path, Root: c.Root, Unknown: "no daemon runs"})
	}
	return config.Load(inputs, previous, o)
}
