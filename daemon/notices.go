package daemon

import (
	"context"
	"maps"
	"slices"

	"github.com/assayd/assayd/daemon/hostinfo"
	"github.com/assayd/assayd/daemon/notifier"
	"github.com/assayd/assayd/daemon/trace"
	"github.com/assayd/assayd/runtime/gateway"
)

// openNotifiers makes those who tell others what happens, before anything is stored.
func (d *Daemon) openNotifiers(ctx context.Context) (err error) {
	if d.opts.Idle {
		return nil
	}
	settings, secret := d.opts.Settings, ConfigOptions(d.opts.Settings).Secret
	d.notifiers, err = notifier.Open(ctx, notifier.Options{
		Settings: settings.Notifiers, Store: d.store, Secret: secret, Told: d.metrics.Notified, Version: d.opts.Version, Log: d.opts.Log,
		Watched: notifier.Watched{
			Begun: func(ctx context.Context) error { _, err := d.rec.Snapshots.Wait(ctx); return err },
			Budget: func(run string) (gateway.Budget, bool) {
				desired := d.rec.Snapshots.Get().Run(run).Desired
				if desired == nil {
					return gateway.Budget{}, false
				}
				return desired.Total, true
			},
			Engine: d.engineUp, Free: func() int64 { return hostinfo.FreeAt(d.store.Dir()) }, Providers: slices.Sorted(maps.Keys(settings.Providers)),
		},
	})
	return err
}

// openTraces makes who sends traces, before anything is stored.
func (d *Daemon) openTraces(ctx context.Context) (err error) {
	settings := d.opts.Settings
	switch {
	case d.opts.Idle:
		return nil
	case settings.Traces.Endpoint == "":
		return trace.Forget(ctx, d.store)
	}
	d.tracer, err = trace.Open(ctx, trace.Options{
		Settings: settings.Traces, Store: d.store, Owner: d.store.Owner(), StateDir: d.store.Dir(), Secret: ConfigOptions(settings).Secret,
		Told: d.metrics.Traced, Version: d.opts.Version, Log: d.opts.Log,
	})
	return err
}

// traceID is the id of the trace of a try, for logs; nil where there are no traces.
func (d *Daemon) traceID() func(trial string, try int) string {
	if d.tracer == nil {
		return nil
	}
	return d.tracer.ID
}

// modelEnded is told of a request for a model.
func (d *Daemon) modelEnded(e gateway.Ended) {
	d.metrics.ModelEnded(e)
	if d.notifiers != nil {
		d.notifiers.ModelEnded(e)
	}
}
