package daemon

import (
	"context"
	"fmt"
	"time"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile"
	"github.com/assayd/assayd/runtime/image"
)

// lentTo is what the settings lend to the commands of builds.
func lentTo(b config.Build, read func(name string) (string, bool)) (image.Lent, error) {
	lent := image.Lent{Secrets: map[string]string{}, Mirrors: b.Mirrors, Proxy: b.Proxy}
	for key, secret := range b.Secrets {
		value, ok := secret.Value(read)
		if !ok {
			return lent, fmt.Errorf("settings: build.secrets: %s: the secret %q cannot be read", key, secret.Name())
		}
		lent.Secrets[key] = value
	}
	return lent, nil
}

// collectEvery is how often images beyond the budget are removed when no run ends. What was used
// within it stays, for who builds ahead; what only runs used that are over does not.
const collectEvery = time.Hour

// collectAgain is when it is done once more after a run's end, as what stood ready for the run
// may have had its images.
const collectAgain = 30 * time.Second

// collect keeps the images within the budget of the settings, if there is one.
func (d *Daemon) collect(ctx context.Context) error {
	keep := d.opts.Settings.Build.Keep
	if keep == 0 {
		return nil
	}
	next := time.NewTimer(collectEvery)
	defer next.Stop()
	for {
		pause := collectEvery
		select {
		case <-next.C:
		case <-d.rec.Finished():
			pause = collectAgain
		case <-ctx.Done():
			return nil
		}
		out, err := d.rec.Collect(ctx, reconcile.Sweep{Keep: &keep, Young: collectEvery})
		if err != nil && ctx.Err() == nil {
			d.opts.Log.Warn("collect what nobody needs", "error", err)
		}
		if out.Bytes > 0 {
			d.opts.Log.Info("collected what nobody needs", "images", len(out.Images), "blobs", out.Blobs, "bytes", out.Bytes)
		}
		next.Reset(pause)
	}
}
