package daemon

import (
	"context"
	"path/filepath"
	"slices"

	"github.com/assayd/assayd/daemon/watch"
)

// look has the files looked at whenever something changes in the watched folders. When one of
// them leads elsewhere than before, the result files are looked at, too: whoever swaps a
// link removes what it led to, and the records beside the specs with it.
func (d *Daemon) look(ctx context.Context, changes <-chan struct{}) error {
	led := d.leads()
	for {
		select {
		case <-changes:
		case <-ctx.Done():
			return nil
		}
		if now := d.leads(); !slices.Equal(now, led) {
			led = now
			d.writer.Recheck()
		}
		select {
		case d.pulses <- struct{}{}:
		default: // a look is due already
		}
	}
}

// leads is where the roots lead to; "" for one that is not there.
func (d *Daemon) leads() []string {
	var all []string
	for _, root := range d.opts.Roots {
		real, _ := filepath.EvalSymlinks(root) // what is missing is told by who reads it
		all = append(all, real)
	}
	return all
}

// watch looks at the watched folders until the context ends.
func (d *Daemon) watch(ctx context.Context, changes chan<- struct{}) error {
	return watch.Run(ctx, watch.Options{Roots: d.opts.Roots, Ignore: ownFile, Log: d.opts.Log}, changes)
}
