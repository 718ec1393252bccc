package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/assayd/assayd/contrib/bench/client"
	"github.com/assayd/assayd/contrib/bench/result"
	"github.com/assayd/assayd/runtime/container/docker"
)

// restarts are how often the daemon is killed.
const restarts = 7

// crowd is how many trials are adopted at once by a daemon that has many.
const crowd = 50

// restarts measures from the start of a daemon, after kill -9 of the former one, until the
// judge answers every trial that lived on, against listing the containers once.
func (w *fixture) restarts(ctx context.Context) ([]result.Result, error) {
	r, err := w.restart(ctx)
	if err != nil {
		return nil, err
	}
	return []result.Result{r.Called("restart", fmt.Sprintf("kill -9, start → %d live trials are served again", usual), "listing their containers once")}, nil
}

// adoption does the same with many live trials.
func adoption(ctx context.Context, o options, engine *docker.Engine) (_ []result.Result, err error) {
	w, err := begun(ctx, o, engine, crowd)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, w.close(ctx)) }()
	r, err := w.restart(ctx)
	if err != nil {
		return nil, err
	}
	return []result.Result{r.Called("adoption", fmt.Sprintf("kill -9, start → all of %d live trials are served again", crowd),
		"listing their containers once")}, nil
}

func (w *fixture) restart(ctx context.Context) (r result.Result, err error) {
	var ours, ready, listing []float64
	for range restarts {
		if err := w.kill(); err != nil {
			return r, err
		}
		begun := time.Now()
		if err := w.launch(); err != nil {
			return r, err
		}
		for _, d := range w.doors {
			err := client.Until(ctx, "the judge answers a trial again", 2*time.Millisecond, func() (bool, error) {
				return d.Opens(ctx), nil
			})
			if err != nil {
				return r, err
			}
		}
		ours = append(ours, result.Milliseconds(time.Since(begun)))
		if err := w.awaitReady(); err != nil {
			return r, err
		}
		ready = append(ready, result.Milliseconds(time.Since(begun)))
		if err := w.quiet(ctx); err != nil {
			return r, err
		}
		list, err := client.Timed(func() error {
			_, err := w.engine.Observe(ctx, w.owner)
			return err
		})
		if err != nil {
			return r, err
		}
		listing = append(listing, list)
	}
	r = result.Compare("ms", ours, listing)
	r.Parts = map[string]float64{"until the daemon is ready": result.Median(ready)}
	return r, nil
}
