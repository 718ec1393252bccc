// Command bench measures assayd on this machine, each time as a ratio to something that
// was measured in the same run: the container engine alone, one round trip, the settle
// time, one listing of containers, a daemon with nothing to do. It drives the real program
// on scratch folders, prints a table and writes bench.json. It changes nothing outside of
// those folders, and removes the containers and images that it had made.
//
// `make bench` builds what it needs and calls it. Start reading at measure; report.go has
// the arithmetic, world.go the daemon under measurement, and each other file one subject.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/assayd/assayd/runtime/container/docker"
)

// options are the command line.
type options struct {
	program string // the assayd to measure
	image   string // what its containers begin with
	out     string
	specs   int // files that the idle daemon has
}

func main() {
	var o options
	flag.StringVar(&o.program, "program", "bin/assayd", "the `file` to measure")
	flag.StringVar(&o.image, "image", "assayd-base/python:1", "`image` that has sh and sleep")
	flag.StringVar(&o.out, "out", "bench.json", "`file` for the results")
	flag.IntVar(&o.specs, "specs", 1000, "`number` of spec files that the idle daemon has; 10000 takes a few minutes more")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) (err error) {
	if o.program, err = filepath.Abs(o.program); err != nil {
		return err
	}
	engine, err := docker.New(ctx, docker.Options{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, engine.Close()) }()
	host, err := machineOf(ctx, engine)
	if err != nil {
		return err
	}
	begun := time.Now()
	results, err := measure(ctx, o, engine)
	if err != nil {
		return err
	}
	r := report{Time: begun.UTC().Truncate(time.Second), Seconds: time.Since(begun).Seconds(), Machine: host, Results: results}
	fmt.Print(r.table())
	return r.write(o.out)
}

// measure makes all measurements, one after the other so that none disturbs another.
func measure(ctx context.Context, o options, engine *docker.Engine) (all []result, err error) {
	busy, err := newWorld(ctx, o, engine)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, busy.close(ctx)) }()
	if err := busy.begin(ctx); err != nil {
		return nil, err
	}
	for _, subject := range []struct {
		name    string
		measure func(context.Context) ([]result, error)
	}{
		{"submissions", busy.submissions},
		{"submissions at once", busy.parallel},
		{"cleaning", busy.cleaning},
		{"dropped files", busy.drops},
		{"restarts", busy.restarts},
		{"idling", func(ctx context.Context) ([]result, error) { return idling(ctx, o, engine) }},
	} {
		fmt.Fprintf(os.Stderr, "bench: %s\n", subject.name)
		found, err := subject.measure(ctx)
		if err != nil {
			return nil, fmt.Errorf("measure %s: %w", subject.name, err)
		}
		all = append(all, found...)
	}
	return all, nil
}
