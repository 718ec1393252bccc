package main

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/assayd/assayd/contrib/bench/result"
)

// Submissions that are under way at once, and how many are made in all.
const (
	atOnce = 16
	volley = 64
)

// parallel measures how many submissions a second are judged when many are sent at once,
// by all trials in turn, against how many containers the engine starts, uses and removes,
// as many at once.
func (w *fixture) parallel(ctx context.Context) ([]result.Result, error) {
	ours, err := w.rate(ctx, func(ctx context.Context, n int) error {
		d := w.doors[n%len(w.doors)]
		a, err := d.Submit(ctx, 1000+n)
		if err != nil {
			return err
		}
		return d.Verdict(ctx, a.ID)
	})
	if err != nil {
		return nil, err
	}
	if err := w.quiet(ctx); err != nil {
		return nil, err
	}
	engine, err := w.rate(ctx, func(ctx context.Context, n int) error {
		_, err := w.reference(ctx, 1000+n)
		return err
	})
	if err != nil {
		return nil, err
	}
	return []result.Result{result.Compare("/s", []float64{ours}, []float64{engine}).Called("submissions_at_once",
		fmt.Sprintf("submissions judged a second, %d at once", atOnce),
		fmt.Sprintf("engine alone: containers used a second, %d at once", atOnce))}, nil
}

// rate does one thing many times, several at once, and returns how often a second.
func (w *fixture) rate(ctx context.Context, do func(ctx context.Context, n int) error) (float64, error) {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(atOnce)
	begun := time.Now()
	for n := range volley {
		g.Go(func() error { return do(ctx, n) })
	}
	err := g.Wait()
	return volley / time.Since(begun).Seconds(), err
}
