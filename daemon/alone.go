package daemon

import (
	"context"
	"errors"

	"golang.org/x/sync/errgroup"

	"github.com/assayd/assayd/daemon/api"
)

// Alone judges on a state directory on which no daemon runs, asked through a client of its
// own. It takes the lock but not the control socket, starts no run, and leaves what runs
// to the next daemon. done lets go of it.
func Alone(ctx context.Context, o Options) (c *api.Client, done func() error, err error) {
	o.Idle = true
	d, err := Open(ctx, o)
	if err != nil {
		return nil, nil, err
	}
	working, stop := context.WithCancel(ctx)
	g, gctx := errgroup.WithContext(working)
	g.Go(func() error { return d.judge.Run(gctx) })
	g.Go(func() error { return d.rec.Run(gctx, nil) })
	c = api.InProcess(api.Handler(d.rec, o.Version, nil))
	return c, func() error {
		c.Close()
		stop()
		return errors.Join(g.Wait(), d.Close())
	}, nil
}
