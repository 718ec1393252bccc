package daemon

import (
	"context"
	"fmt"
	"time"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile/retention"
	"github.com/assayd/assayd/runtime/image"
)

// buildSecrets is what the settings lend to the commands of builds.
func buildSecrets(settings *config.Settings, read func(name string) (string, bool)) (image.BuildSecrets, error) {
	b := settings.Build
	lent := image.BuildSecrets{Secrets: map[string]string{}, Mirrors: b.Mirrors, Forge: forgeOf(settings.GitHub.BaseURL), Proxy: b.Proxy}
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

// collectSoon is how long after a run's end it is done: what stood ready for the run is gone
// then, and many runs that end together are one reason.
const collectSoon = 30 * time.Second

// collect keeps the images within the budget of the settings, if there is one.
func (d *Daemon) collect(ctx context.Context) error {
	keep := d.opts.Settings.Build.Keep
	if keep == 0 {
		return nil
	}
	next, soon := time.NewTimer(collectEvery), false
	defer next.Stop()
	for {
		select {
		case <-d.rec.Finished():
			if !soon {
				soon = true
				next.Reset(collectSoon)
			}
			continue
		case <-next.C:
		case <-ctx.Done():
			return nil
		}
		out, err := d.rec.Retention.Collect(ctx, retention.Sweep{Keep: &keep, Young: collectEvery})
		if err != nil && ctx.Err() == nil {
			d.opts.Log.Warn("collect garbage", "error", err)
		}
		if out.Bytes > 0 {
			d.opts.Log.Info("collected garbage", "images", len(out.Images), "blobs", out.Blobs, "bytes", out.Bytes)
		}
		soon = false
		next.Reset(collectEvery)
	}
}
