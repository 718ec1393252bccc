package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/daemon"
	"github.com/assayd/assayd/daemon/api"
)

// connect returns a client of the daemon of the state directory. Where none runs and the
// command only reads, the state directory is read by this process.
func (e *env) connect(ctx context.Context, readOnly bool) (c *api.Client, done func(), err error) {
	settings, dir, err := e.place()
	if err != nil {
		return nil, nil, err
	}
	return e.connectTo(ctx, settings, dir, readOnly)
}

// place reads the settings, and says which state directory they or the command line name.
func (e *env) place() (settings *config.Settings, dir string, err error) {
	if settings, err = e.settings(); err != nil {
		return nil, "", err
	}
	dir, err = e.stateDir(settings)
	return settings, dir, err
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
	}
	reading, finish, opened := daemon.Read(ctx, settings, dir, e.version)
	if errors.Is(opened, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("%w, and there is no state of one in %s; name the state directory with --state", err, dir)
	}
	if opened != nil {
		return nil, nil, opened
	}
	return reading, func() { _ = finish() }, nil // what was asked is answered
}

// onlyLive turns following off where no daemon runs, for then nothing more will come.
func (e *env) onlyLive(c *api.Client, follow bool) bool {
	if follow && !c.Live() {
		fmt.Fprintln(e.err, "No daemon runs on this state directory: this is all there is for now.")
	}
	return follow && c.Live()
}

func (e *env) printJSON(v any) error {
	enc := json.NewEncoder(e.out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}
