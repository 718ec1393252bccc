package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/assayd/assayd/contrib/bench/client"
	"github.com/assayd/assayd/contrib/bench/result"
)

// drops are how many files are dropped and measured, after one that warms things up.
const drops = 9

// settle is how long the watcher waits for a folder to be at rest: daemon/watch's default.
const settle = 100 * time.Millisecond

// drops measures from a file that appears to the request for the first container, which is
// when the engine says that it was created.
func (w *fixture) drops(ctx context.Context) ([]result.Result, error) {
	ctx, cancel := context.WithCancel(ctx)
	hints := w.engine.Hints(ctx, w.owner)
	defer func() {
		cancel()
		for range hints { // until the engine has let go
		}
	}()
	m := result.Samples{}
	seen := map[string]bool{}
	for n := range drops + 1 {
		if err := drain(ctx, hints, seen); err != nil {
			return nil, err
		}
		took, err := w.dropOne(ctx, fmt.Sprintf("drop%d", n), hints, seen)
		if err != nil {
			return nil, err
		}
		if n > 0 {
			m.Add(took)
		}
	}
	r := result.Compare("ms", m["container requested"], []float64{result.Milliseconds(settle)})
	r.Parts = m.Medians("file accepted", "run begun", "container made")
	return []result.Result{r.Called("drop", "file dropped → its first container requested", "the time that files are given to settle")}, nil
}

// dropOne drops a run and waits for its end. It returns how long after the drop each thing
// happened, in milliseconds.
func (w *fixture) dropOne(ctx context.Context, name string, hints <-chan string, seen map[string]bool) (map[string]float64, error) {
	dropped, err := w.drop(name+".hcl", w.nopRun(name))
	if err != nil {
		return nil, err
	}
	id, err := first(ctx, hints, seen)
	if err != nil {
		return nil, err
	}
	made := time.Now()
	c, err := w.engine.Inspect(ctx, id)
	if err != nil {
		return nil, err
	}
	address := "run." + name
	if err := errors.Join(w.settled(ctx, address), w.quiet(ctx)); err != nil {
		return nil, err
	}
	accepted, err := w.told(ctx, name+".status.jsonl", "spec.accepted")
	if err != nil {
		return nil, err
	}
	begun, err := w.told(ctx, name+"."+address+".jsonl", "run.started")
	if err != nil {
		return nil, err
	}
	took := map[string]float64{}
	for what, at := range map[string]time.Time{
		"file accepted": accepted.Time, "run begun": begun.Time, "container requested": c.CreatedAt, "container made": made,
	} {
		took[what] = result.Milliseconds(at.Sub(dropped))
	}
	return took, nil
}

// drain takes what hints are on their way, until none came for a while.
func drain(ctx context.Context, hints <-chan string, seen map[string]bool) error {
	rest := time.NewTimer(2 * settle)
	defer rest.Stop()
	for {
		select {
		case id := <-hints:
			seen[id] = true
			rest.Reset(2 * settle)
		case <-rest.C:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// first waits for a container that was not there before.
func first(ctx context.Context, hints <-chan string, seen map[string]bool) (id string, err error) {
	ctx, cancel := context.WithTimeout(ctx, client.Patience)
	defer cancel()
	for {
		select {
		case id := <-hints:
			if !seen[id] {
				return id, nil
			}
		case <-ctx.Done():
			return "", fmt.Errorf("wait for a container: %w", context.Cause(ctx))
		}
	}
}

// told waits for a record that the daemon writes.
func (w *fixture) told(ctx context.Context, file, typ string) (found record, err error) {
	return found, client.Until(ctx, typ+" is in "+file, 20*time.Millisecond, func() (ok bool, err error) {
		all, err := w.records(file)
		found, ok = ofType(all, typ)
		return ok, err
	})
}
