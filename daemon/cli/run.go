package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/daemon"
	"github.com/assayd/assayd/daemon/api"
	"github.com/assayd/assayd/reconcile"
	"github.com/assayd/assayd/runtime/trial"
)

func (e *env) run() *cobra.Command {
	return &cobra.Command{
		Use: "run FILE…", Short: "Make these specs true, show progress, exit when all is settled", Args: some("spec files"),
		Long: "run makes these specs true and exits when all is settled: 0 when every trial is judged,\n1 when one failed, crashed or could not be judged, 2 when the specs are wrong. With a live daemon on the state directory it hands\nthe files to it; otherwise it is the daemon for just these files, with .assayd beside the first of them\nas its state directory. The first Ctrl-C cancels and waits, a second one detaches.",
		RunE: func(cmd *cobra.Command, args []string) error { return e.runFiles(cmd.Context(), args) },
	}
}

func (e *env) runFiles(ctx context.Context, files []string) error {
	settings, err := e.settings()
	if err != nil {
		return err
	}
	inputs, err := readSpecs(files)
	if err != nil {
		return err
	}
	var paths []string
	for _, in := range inputs {
		paths = append(paths, in.Path)
	}
	dir := e.state
	if dir == "" {
		dir = filepath.Join(filepath.Dir(paths[0]), localState)
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return err
	}
	interrupts := make(chan os.Signal, 2)
	signal.Notify(interrupts, syscall.SIGINT, syscall.SIGTERM)
	defer signal.Stop(interrupts)
	c := api.NewClient(api.Socket(dir))
	defer c.Close()
	if _, err := c.Version(ctx); err == nil {
		return e.pursue(ctx, c, paths, interrupts)
	} else if !errors.Is(err, api.ErrNoDaemon) {
		return err
	}
	set := compile(inputs, settings) // what is wrong with the files comes before anything is made
	if set.Diagnostics.HasErrors() {
		return e.rejected(set.Diagnostics)
	}
	if len(set.Blocks.Runs) == 0 {
		return e.noRun(set.Diagnostics)
	}
	return e.runAlone(ctx, settings, dir, c, paths, interrupts)
}

// noRun ends the command where there is nothing to run.
func (e *env) noRun(ds config.Diagnostics) error {
	if err := e.warn(ds); err != nil {
		return err
	}
	return usage{errors.New("these files declare no run, so there is nothing to do; add a run block")}
}

// runAlone is the daemon for just these files.
func (e *env) runAlone(ctx context.Context, settings *config.Settings, dir string, c *api.Client, paths []string, interrupts chan os.Signal) error {
	log, err := e.runLogger(settings)
	if err != nil {
		return usage{err}
	}
	if _, err := askEngine(ctx, settings.Engines["docker"].Host); err != nil {
		return fmt.Errorf("nothing was started: %w", err)
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	d, err := daemon.Open(ctx, daemon.Options{Settings: settings, StateDir: dir, Version: e.version, Log: log})
	if err != nil {
		return err
	}
	finished := make(chan error, 1)
	go func() { finished <- d.Run(ctx) }()
	err = e.pursue(ctx, c, paths, interrupts)
	stop()
	if ended := <-finished; ended != nil {
		return errors.Join(err, ended)
	}
	return err
}

// runLogger shows problems only, unless ASSAYD_LOG asks for more, so that progress can be
// read.
func (e *env) runLogger(settings *config.Settings) (*slog.Logger, error) {
	o := settings.Log
	if os.Getenv("ASSAYD_LOG") == "" && o.Level == "info" {
		o.Level = "warn"
	}
	return logger(e.err, o)
}

// pursue hands the files to the daemon and shows progress until all is settled.
func (e *env) pursue(ctx context.Context, c *api.Client, paths []string, interrupts chan os.Signal) error {
	submitted, err := c.Submit(ctx, paths)
	if err != nil {
		return err
	}
	if submitted.Diagnostics.HasErrors() {
		return e.rejected(submitted.Diagnostics)
	}
	if len(submitted.Addresses) == 0 {
		return e.noRun(submitted.Diagnostics)
	}
	if err := e.warn(submitted.Diagnostics); err != nil {
		return err
	}
	p := progress{e: e, live: terminal(e.err) && !e.json}
	interrupted := false
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		runs, err := statuses(ctx, c, submitted.Addresses)
		if err != nil {
			return err
		}
		if settled(runs) {
			p.last(runs)
			return e.conclude(runs)
		}
		p.show(runs)
		select {
		case <-tick.C:
		case <-interrupts:
			if interrupted {
				p.clear()
				fmt.Fprintf(e.err, "Detached; the agents work on. To attach again: assayd run %s\n", strings.Join(paths, " "))
				return exit{ExitFailed}
			}
			interrupted = true
			p.say("Cancelling; once more Ctrl-C detaches and leaves the agents at work.")
			for _, r := range runs {
				if err := c.Cancel(ctx, r.Address); err != nil {
					return err
				}
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// statuses asks for the runs with the trials that they want as they are declared now.
func statuses(ctx context.Context, c *api.Client, addresses []string) ([]reconcile.RunStatus, error) {
	s, err := c.Status(ctx, "")
	if err != nil {
		return nil, err
	}
	runs := slices.DeleteFunc(s.Runs, func(r reconcile.RunStatus) bool { return !slices.Contains(addresses, r.Address) })
	for i := range runs {
		runs[i].Trials = slices.DeleteFunc(runs[i].Trials, func(t reconcile.TrialStatus) bool { return !t.Wanted })
	}
	return runs, nil
}

// settled: nothing is going on or will by itself. A run that waits for its schedule keeps
// the command waiting.
func settled(runs []reconcile.RunStatus) bool {
	for _, r := range runs {
		if r.State != "finished" && r.State != "blocked" {
			return false
		}
	}
	return true
}

// conclude prints the outcome and decides the exit code: a crashed agent and a judge that
// could not be run are failures, though they count as unsolved.
func (e *env) conclude(runs []reconcile.RunStatus) error {
	if e.json {
		if err := e.printJSON(map[string]any{"runs": runs}); err != nil {
			return err
		}
	} else if err := showOutcome(e.out, runs); err != nil {
		return err
	}
	for _, r := range runs {
		if r.State == "blocked" {
			return exit{ExitFailed}
		}
		for _, t := range r.Trials {
			if t.Status != trial.Resolved && t.Status != trial.Unresolved {
				return exit{ExitFailed}
			}
		}
	}
	return nil
}
