package daemon

import (
	"context"
	"errors"
	"log/slog"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/daemon/api"
	"github.com/assayd/assayd/daemon/web"
)

// ReadPages makes what serves and writes pages of a state directory, whether a daemon runs on it or not; it changes nothing
// there. done lets go of it.
func ReadPages(ctx context.Context, settings *config.Settings, dir, version string) (pages *web.Server, sessions *web.Sessions, done func() error, err error) {
	rec, s, finish, err := readState(ctx, settings, dir)
	if err != nil {
		return nil, nil, nil, err
	}
	if sessions, err = web.OpenSessions(ctx, s, true); err != nil {
		return nil, nil, nil, errors.Join(err, finish())
	}
	pages = web.New(web.Options{
		Reader: rec.Reader, Trials: rec.Trials, Summaries: rec.Summaries, API: api.Handler(rec, version, nil), Sessions: sessions, Owner: s.Owner(), Version: version, ReadOnly: true, Log: slog.New(slog.DiscardHandler),
	})
	return pages, sessions, finish, nil
}
