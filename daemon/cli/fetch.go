package cli

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/dustin/go-humanize"

	"github.com/assayd/assayd/daemon/api"
	"github.com/assayd/assayd/reconcile/query"
)

// fetch has the datasets come that spec files name and that lie elsewhere, and shows how far it
// is. An interrupt leaves what has come for the next time.
func (e *env) fetch(ctx context.Context, c *api.Client, paths []string, interrupts <-chan os.Signal) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	watched := make(chan struct{})
	defer close(watched)
	go func() {
		select {
		case <-interrupts:
			stop(errors.New("interrupted while a dataset was fetched; the next time goes on from here"))
		case <-watched:
		}
	}()
	shown := fetchShown{e: e, live: terminal(e.err) && !e.json}
	err := c.Fetch(ctx, paths, shown.tell)
	shown.clear()
	if cause := context.Cause(ctx); err != nil && cause != nil {
		return cause
	}
	return err
}

// fetchShown shows how far fetching is: on a terminal in one line that changes, else when it
// begins.
type fetchShown struct {
	e     *env
	live  bool
	drawn bool
	told  string // source
}

func (s *fetchShown) tell(f query.Fetch) {
	if f.Over {
		s.clear()
		return
	}
	if !s.live {
		if s.told != f.Source && !s.e.json {
			fmt.Fprintf(s.e.err, "fetching %s\n", printable(f.Source))
		}
		s.told = f.Source
		return
	}
	text := humanize.Bytes(uint64(f.Done)) //nolint:gosec // not negative
	if f.Total > 0 {
		text += " of " + humanize.Bytes(uint64(f.Total)) //nolint:gosec // not negative
	}
	steer(s.e.err, "\r\x1b[K")
	fmt.Fprintf(s.e.err, "fetching %s: %s", printable(f.Source), text)
	s.drawn = true
}

func (s *fetchShown) clear() {
	if s.drawn {
		steer(s.e.err, "\r\x1b[K")
		s.drawn = false
	}
}
