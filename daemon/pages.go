package daemon

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/assayd/assayd/daemon/api"
	"github.com/assayd/assayd/daemon/web"
)

// openPages opens the socket for browsers, and makes what serves pages there and on the HTTP listener.
func (d *Daemon) openPages(ctx context.Context) (err error) {
	if d.sessions, err = web.OpenSessions(ctx, d.store, false); err != nil {
		return err
	}
	tokens, err := httpTokens(d.opts.Settings)
	if err != nil {
		return err
	}
	for _, l := range d.http {
		d.doors = append(d.doors, l.Addr().String())
	}
	d.pages = web.New(web.Options{
		Reader: d.rec.Reader, API: api.Handler(d.rec, d.opts.Version, d), Sessions: d.sessions, Tokens: tokens, Hosts: d.opts.Settings.HTTP.Hosts,
		Owner: d.store.Owner(), Version: d.opts.Version, Watches: d.rec.Roots(), Log: d.opts.Log,
	})
	path := web.Socket(d.store.Dir())
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove the socket for browsers of a former daemon: %w", err)
	}
	if d.browsers, err = net.Listen("unix", path); err != nil {
		return fmt.Errorf("open the socket for browsers: %w", err)
	}
	return os.Chmod(path, 0o660)
}

// Code implements api.Logins. Whoever reaches the control socket may do everything.
func (d *Daemon) Code() (code string, until time.Time) { return d.sessions.Code(web.Operator) }

// EndAll implements api.Logins.
func (d *Daemon) EndAll(ctx context.Context) (int, error) { return d.sessions.EndAll(ctx) }

// Doors implements api.Logins.
func (d *Daemon) Doors() (addresses []string, socket string) {
	return d.doors, web.Socket(d.store.Dir())
}
