package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/daemon"
	"github.com/assayd/assayd/daemon/api"
)

// connect returns a client of the daemon of the state directory. Where none runs and the
// command only reads, the state directory is read by this process.
func (e *env) connect(ctx context.Context, readOnly bool) (c *api.Client, done func(), err error) {
	settings, err := e.settings()
	if err != nil {
		return nil, nil, err
	}
	dir, err := e.stateDir(settings)
	if err != nil {
		return nil, nil, err
	}
	return e.connectTo(ctx, settings, dir, readOnly)
}

func (e *env) connectTo(ctx context.Context, settings *config.Settings, dir string, readOnly bool) (c *api.Client, done func(), err error) {
	c = api.NewClient(api.Socket(dir))
	_, err = c.Version(ctx)
	switch {
	case err == nil:
		return c, c.Close, nil
	case !errors.Is(err, api.ErrNoDaemon):
		return nil, nil, err
	case !readOnly:
		return nil, nil, fmt.Errorf("%w; start it with: assayd serve --watch DIR --state %s", err, dir)
	case !exists(dir):
		return nil, nil, fmt.Errorf("%w, and there is no state directory %s; name one with --state", err, dir)
	}
	reading, cancel := context.WithCancel(ctx)
	finished := make(chan error, 1)
	opened, err := daemon.Open(reading, daemon.Options{
		Settings: settings, StateDir: dir, Version: e.version, Log: slog.New(slog.DiscardHandler), ReadOnly: true,
	})
	if err != nil {
		cancel()
		return nil, nil, err
	}
	go func() { finished <- opened.Run(reading) }()
	return c, func() { c.Close(); cancel(); <-finished }, nil
}

func (e *env) printJSON(v any) error {
	enc := json.NewEncoder(e.out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}
