// Command bench measures assayd on this machine, each time as a ratio to something that
// was measured in the same run: the container engine alone, one round trip, the settle
// time, one listing of containers, a daemon with nothing to do, itself a while ago. It
// drives the real program on scratch folders, prints a table and writes bench.json. It
// changes nothing outside of those folders, and removes the containers and images that it
// had made. With -base it measures two programs in turns and compares them.
//
// `make bench` and `make bench-compare` build what it needs and call it. Start reading at
// subjects; package result has the arithmetic, world.go the daemon under measurement, and each
// other file one subject.
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
	"strings"
	"syscall"
	"time"

	"github.com/assayd/assayd/contrib/bench/result"
	"github.com/assayd/assayd/runtime/container/docker"
)

// options are the command line.
type options struct {
	program string // the assayd to measure
	base    string // another one to compare it with; "" = none
	image   string // what its containers begin with
	out     string
	only    string // subjects, with commas; "" = all
	specs   int    // files that the idle daemon has
	hours   float64
	turns   int // of each program in a comparison
}

func main() {
	if len(os.Args) == 4 && os.Args[1] == asGateway {
		fmt.Fprintln(os.Stderr, "bench: the gateway:", serveGateway(context.Background(), os.Args[2], os.Args[3]))
		os.Exit(1)
	}
	if len(os.Args) == 4 && os.Args[1] == asArchive {
		if err := readDay(context.Background(), os.Args[2], os.Args[3]); err != nil {
			fmt.Fprintln(os.Stderr, "bench: the archive:", err)
			os.Exit(1)
		}
		return
	}
	var o options
	flag.StringVar(&o.program, "program", "bin/assayd", "the `file` to measure")
	flag.StringVar(&o.base, "base", "", "another such `file`, to compare the first one with")
	flag.StringVar(&o.image, "image", "assayd-base/python:1", "`image` that has sh and sleep")
	flag.StringVar(&o.out, "out", "", "`file` for the results (default bench.json, with -base bench-compare.json)")
	flag.StringVar(&o.only, "only", "", "`subjects` to measure, with commas between them: "+strings.Join(names(subjects), ", ")+
		"; with -base those that measure the program: "+strings.Join(names(comparable()), ", "))
	flag.IntVar(&o.specs, "specs", 10_000, "`number` of spec files that the idle daemon has")
	flag.Float64Var(&o.hours, "hours", 8, "how many `hours` of submissions the soak makes")
	flag.IntVar(&o.turns, "turns", 3, "how `often` each of two programs is measured")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if o.out == "" {
		o.out = "bench.json"
		if o.base != "" {
			o.out = "bench-compare.json"
		}
	}
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) (err error) {
	chosen, err := choose(o)
	if err != nil {
		return err
	}
	for _, program := range []*string{&o.program, &o.base} {
		if *program == "" {
			continue
		}
		if *program, err = filepath.Abs(*program); err != nil {
			return err
		}
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
	r := report{Time: begun.UTC().Truncate(time.Second), Machine: host}
	if o.base != "" {
		r.Compared, err = inTurns(ctx, o, chosen, engine)
	} else {
		r.Results, err = measure(ctx, o, chosen, engine)
	}
	r.Seconds = time.Since(begun).Seconds()
	if err == nil {
		err = errors.Join(r.write(o.out), r.exceeded())
	}
	if len(r.Results)+len(r.Compared) > 0 { // what took minutes is shown also when the last step failed
		fmt.Print(r.table())
	}
	return err
}

// measure makes the chosen measurements, one after the other so that none disturbs another.
func measure(ctx context.Context, o options, chosen []subject, engine *docker.Engine) (all []result.Result, err error) {
	var busy *fixture // for all that need one
	defer func() {
		if busy != nil {
			err = errors.Join(err, busy.close(ctx))
		}
	}()
	for _, s := range chosen {
		fmt.Fprintf(os.Stderr, "bench: %s\n", s.name)
		var found []result.Result
		if s.alone != nil {
			found, err = s.alone(ctx, o, engine)
		} else {
			if busy == nil {
				if busy, err = begun(ctx, o, engine, usual); err != nil {
					return all, err
				}
			}
			found, err = s.busy(busy, ctx)
		}
		all = append(all, found...)
		if err != nil {
			return all, fmt.Errorf("measure %s: %w", s.name, err)
		}
	}
	return all, nil
}
