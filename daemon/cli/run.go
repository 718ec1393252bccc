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
	"github.com/assayd/assayd/reconcile/control"
	"github.com/assayd/assayd/reconcile/history"
	"github.com/assayd/assayd/reconcile/query"
	"github.com/assayd/assayd/reconcile/query/trialview"
	"github.com/assayd/assayd/runtime/task/runner"
	"github.com/assayd/assayd/runtime/task/sweforge"
	"github.com/assayd/assayd/runtime/trial"
)

func (e *env) run() *cobra.Command {
	return &cobra.Command{
		Use: "run FILE…", Short: "Make these specs true, show progress, exit when all is settled", Args: some("spec files"),
		Long: "run makes these specs true and exits when all is settled. With a live daemon on the state directory it hands the files to it.\nOtherwise it is the daemon for these files alone. Its state directory is then .assayd beside the first of them.\nThe first Ctrl-C cancels and waits, a second one detaches.",
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
		return e.pursue(ctx, c, dir, "", paths, interrupts)
	} else if !errors.Is(err, api.ErrNoDaemon) {
		return err
	}
	if err := e.watched(ctx, settings, paths); err != nil {
		return err
	}
	set := compile(inputs, settings) // what is wrong with the files comes before anything is made
	if set.Diagnostics.HasErrors() {
		return e.rejected(set.Diagnostics)
	}
	if len(set.Blocks.Runs)+len(set.Blocks.Minings) == 0 {
		return e.noRun(set.Diagnostics)
	}
	return e.runAlone(ctx, settings, dir, c, paths, interrupts)
}

// asks bounds how long a daemon may take to say what it watches.
const asks = 5 * time.Second

// watched refuses files that the daemon watches which `assayd serve` would be here, unless a state
// directory is named: what they say would be done twice, and written to the same place.
func (e *env) watched(ctx context.Context, settings *config.Settings, paths []string) error {
	if e.state != "" {
		return nil
	}
	dir, err := e.ownState(settings)
	if err != nil {
		return nil //nolint:nilerr // then there is no such daemon
	}
	ctx, stop := context.WithTimeout(ctx, asks)
	defer stop()
	c := api.NewClient(api.Socket(dir))
	defer c.Close()
	v, err := c.Version(ctx)
	if err != nil {
		return nil //nolint:nilerr // nobody is there, or nobody who may be asked
	}
	for _, path := range paths {
		for _, root := range v.Watches {
			if below(path, root) {
				return usage{fmt.Errorf("a daemon (process %d) watches %s and does what %s says. To see it: assayd status --state %s. To run it apart from that daemon, name another state directory with --state",
					v.PID, root, relative(path), runner.Line([]string{dir}))}
			}
		}
	}
	return nil
}

// below reports whether a file is in a folder or below it, whatever links lead there.
func below(path, folder string) bool {
	for _, p := range []*string{&path, &folder} {
		if real, err := filepath.EvalSymlinks(*p); err == nil {
			*p = real
		}
	}
	rel, err := filepath.Rel(folder, path)
	return err == nil && filepath.IsLocal(rel)
}

// noRun ends the command where there is nothing to run.
func (e *env) noRun(ds config.Diagnostics) error {
	if err := e.warn(ds); err != nil {
		return err
	}
	return usage{errors.New("these files declare no run and no mining spec, so there is nothing to do; add a run block")}
}

// runAlone is the daemon for just these files.
func (e *env) runAlone(ctx context.Context, settings *config.Settings, dir string, c *api.Client, paths []string, interrupts chan os.Signal) error {
	log, err := e.runLogger(settings)
	if err != nil {
		return usage{err}
	}
	if _, err := askEngine(ctx, settings); err != nil {
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
	err = e.pursue(ctx, c, dir, " on a running daemon, or remove "+remains(dir, paths), paths, interrupts)
	stop()
	if ended := <-finished; ended != nil {
		return errors.Join(err, ended)
	}
	return err
}

// remains are what to remove to begin from nothing: the state, and what is written beside the files.
func remains(dir string, paths []string) string {
	names := []string{relative(dir)}
	for _, path := range paths {
		names = append(names, strings.TrimSuffix(relative(path), ".hcl")+".*.jsonl")
	}
	return strings.Join(names, " ")
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

// How progress is looked at.
const (
	lookPause = 500 * time.Millisecond // between two looks, at least
	lookLong  = 5 * time.Second        // between two looks, at most: what is not told by events is seen then
	drawPause = time.Second            // between two tables on a terminal
)

// pursue hands the files to the daemon and shows progress until all is settled. How is what
// to say of doing it once more beside the command.
func (e *env) pursue(ctx context.Context, c *api.Client, dir, how string, paths []string, interrupts chan os.Signal) error {
	began := time.Now()
	if err := e.fetch(ctx, c, paths, interrupts); err != nil {
		return err
	}
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
	p := progress{e: e, since: began, live: terminal(e.err) && !e.json}
	var first *followed
	interrupted := false
	f := follower{client: c, addresses: submitted.Addresses}
	watching, stop := context.WithCancel(ctx)
	defer stop()
	looks := c.Looks(watching, submitted.Addresses...)
	for {
		now, err := f.look(ctx)
		if err != nil {
			return err
		}
		if first == nil {
			first = &now
		}
		if settled(now, interrupted) {
			p.last(now)
			if address := doneBefore(*first, now, began); address != "" && !e.json {
				fmt.Fprintf(e.err, "everything is done already; to do it again: assayd rerun %s%s\n", address, how)
			}
			return e.end(ctx, c, paths, submitted.Addresses, now, p.outcomeOf(now, paths))
		}
		p.show(now)
		stopped, err := p.await(ctx, now, looks, interrupts)
		switch {
		case err != nil:
			return err
		case stopped:
			if interrupted {
				p.clear()
				fmt.Fprintf(e.err, "Detached; the agents work on. To attach again: %s\n", e.attach(dir, paths))
				return exit{ExitFailed}
			}
			interrupted = true
			p.say("Cancelling; once more Ctrl-C detaches and leaves the agents at work.")
			if err := cancelAll(ctx, c, now); err != nil {
				return err
			}
		}
	}
}

// doneBefore returns what to do again, if nothing was done since that moment, which was before the
// first look; else "". Runs follow the mining specs that they are over.
func doneBefore(first, now followed, moment time.Time) string {
	for _, m := range now.minings {
		if !slices.ContainsFunc(first.minings, func(f query.MiningStatus) bool { return f.Address == m.Address && f.State == "finished" }) {
			return ""
		}
	}
	for _, r := range now.runs {
		if !overBefore(r, moment) {
			return ""
		}
	}
	if all := now.addresses(); len(all) > 0 {
		return all[0] // mining specs come first
	}
	return ""
}

// overBefore reports whether nothing was done of a run since that moment.
func overBefore(r query.RunStatus, moment time.Time) bool {
	return r.State == "finished" && begunOf(r) >= max(r.Wanted, 1) &&
		!slices.ContainsFunc(r.Trials, func(t trialview.TrialStatus) bool {
			return t.Status == "" || t.Status.Retryable() || !t.Ended.Before(moment) // what can be tried again was
		})
}

// attach is the command that follows the same files in the same state directory.
func (e *env) attach(dir string, paths []string) string {
	words := []string{"assayd", "run", "--state", dir}
	if config, err := filepath.Abs(e.config); err == nil && e.config != "" {
		words = append(words, "--config", config)
	}
	return runner.Line(append(words, paths...))
}

// cancelAll ends what runs.
func cancelAll(ctx context.Context, c *api.Client, now followed) error {
	for _, address := range now.addresses() {
		if _, err := c.Cancel(ctx, control.Ask{Target: address}); err != nil && !errors.Is(err, api.Conflict) && !errors.Is(err, api.NotFound) {
			return err
		}
	}
	return nil
}

// settled: nothing is going on or will by itself. A run that waits for its schedule keeps
// the command waiting, unless it was interrupted.
func settled(now followed, interrupted bool) bool {
	for _, r := range now.runs {
		if r.State != "finished" && r.State != "blocked" && !(interrupted && r.State == "waiting") {
			return false
		}
	}
	return !slices.ContainsFunc(now.minings, func(m query.MiningStatus) bool {
		return m.State == "running" || m.State == "waiting" && !interrupted
	})
}

// end takes files back with a run that has not begun and would later, and concludes.
func (e *env) end(ctx context.Context, c *api.Client, paths, addresses []string, now followed, o outcome) error {
	if slices.ContainsFunc(now.runs, func(r query.RunStatus) bool { return r.State == "waiting" }) {
		if err := c.Withdraw(ctx, paths); err != nil {
			return err
		}
	}
	return e.conclude(ctx, c, addresses, now, o)
}

// conclude prints the outcome and decides the exit code.
func (e *env) conclude(ctx context.Context, c *api.Client, addresses []string, now followed, o outcome) error {
	if e.json {
		if err := e.printOutcome(ctx, c, now); err != nil {
			return err
		}
	} else if err := showOutcome(e.out, now, o); err != nil {
		return err
	}
	well := true
	for _, address := range addresses {
		if !slices.Contains(now.addresses(), address) {
			fmt.Fprintf(e.err, "%s: no file declares it any more\n", address)
			well = false
		}
	}
	well = well && !slices.ContainsFunc(now.runs, func(r query.RunStatus) bool { return !judged(r) })
	if !well || slices.ContainsFunc(now.minings, func(m query.MiningStatus) bool { return m.State != "finished" || m.Progress.Accepted == 0 }) {
		return exit{ExitFailed}
	}
	return nil
}

// printOutcome prints the runs, and of a single one in single mode what a harness says of it.
func (e *env) printOutcome(ctx context.Context, c *api.Client, now followed) error {
	out := struct {
		*sweforge.Summary
		Runs    []query.RunStatus    `json:"runs"`
		Minings []query.MiningStatus `json:"minings,omitempty"`
	}{Runs: now.runs, Minings: now.minings}
	if len(now.runs) == 1 {
		h, err := c.Harness(ctx, now.runs[0].Address)
		if err != nil {
			return err
		}
		out.Summary = h.Summary
	}
	return e.printJSON(out)
}

// judged reports whether every trial that a run wants was judged. A crashed agent and a
// judge that could not be run are failures, though they count as unsolved.
func judged(r query.RunStatus) bool {
	if r.State != "finished" || r.Wanted == 0 || begunOf(r) < r.Wanted {
		return false
	}
	for state, cells := range r.Cells {
		if cells > 0 && state != string(trial.Resolved) && state != string(trial.Unresolved) && state != history.StateSuperseded {
			return false
		}
	}
	return !slices.ContainsFunc(r.Trials, func(t trialview.TrialStatus) bool {
		return t.Status != trial.Resolved && t.Status != trial.Unresolved && !t.Superseded
	})
}
