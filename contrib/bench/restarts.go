package main

import (
	"context"
	"time"
)

const restarts = 7

// restarts measures from the start of a daemon, after kill -9 of the former one, until the
// judge answers every trial that lived on, against listing the containers once.
func (w *world) restarts(ctx context.Context) ([]result, error) {
	var ours, ready, listing []float64
	for range restarts {
		if err := w.kill(); err != nil {
			return nil, err
		}
		begun := time.Now()
		if err := w.launch(); err != nil {
			return nil, err
		}
		for _, d := range w.doors {
			err := until(ctx, "the judge answers a trial again", 2*time.Millisecond, func() (bool, error) {
				return d.opens(ctx), nil
			})
			if err != nil {
				return nil, err
			}
		}
		ours = append(ours, milliseconds(time.Since(begun)))
		if err := w.awaitReady(); err != nil {
			return nil, err
		}
		ready = append(ready, milliseconds(time.Since(begun)))
		if err := w.quiet(ctx); err != nil {
			return nil, err
		}
		list, err := timed(func() error {
			_, err := w.engine.Observe(ctx, w.owner)
			return err
		})
		if err != nil {
			return nil, err
		}
		listing = append(listing, list)
	}
	r := compare("ms", ours, listing)
	r.Parts = map[string]float64{"until the daemon is ready": median(ready)}
	return []result{r.called("restart", "kill -9, start → 4 live trials are served again", "listing their containers once")}, nil
}
