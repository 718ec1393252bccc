package daemon

import (
	"context"
	"errors"
	"log/slog"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/daemon/api"
	"github.com/assayd/assayd/daemon/gitsync"
	"github.com/assayd/assayd/reconcile"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/trial"
)

// Read answers questions about a state directory on which no daemon runs, through a client
// of its own. It takes neither the lock nor the control socket and changes nothing, so a
// daemon may begin meanwhile. done lets go of it. errors.Is(err, fs.ErrNotExist) where
// there is no state.
func Read(ctx context.Context, settings *config.Settings, dir, version string) (c *api.Client, done func() error, err error) {
	rec, _, finish, err := readState(ctx, settings, dir)
	if err != nil {
		return nil, nil, err
	}
	c = api.InProcess(api.Handler(rec, version, nil))
	return c, func() error {
		c.Close()
		return finish()
	}, nil
}

// readState opens a state directory for reading, with what answers questions about it.
func readState(ctx context.Context, settings *config.Settings, dir string) (rec *reconcile.Reconciler, s *store.Store, done func() error, err error) {
	if s, err = store.Open(ctx, dir, store.Options{ReadOnly: true}); err != nil {
		return nil, nil, nil, err
	}
	log := slog.New(slog.DiscardHandler)
	rec = reconcile.New(reconcile.Options{
		Store: s, Checkout: gitsync.Last(s.Dir()), ResultsDir: settings.ResultsDir, Config: ConfigOptions(settings), Log: log,
		Host: trial.Host{StateDir: s.Dir(), OpenBlob: s.Blobs().Open, Log: log}, Idle: true,
	})
	reading, stop := context.WithCancel(ctx)
	finished := make(chan error, 1)
	go func() { finished <- rec.Run(reading, nil) }()
	return rec, s, func() error {
		stop()
		return errors.Join(<-finished, s.Close())
	}, nil
}
