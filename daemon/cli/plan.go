package cli

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/daemon"
	"github.com/assayd/assayd/daemon/api"
	"github.com/assayd/assayd/daemon/hostinfo"
	"github.com/assayd/assayd/reconcile/plan"
)

func (e *env) plan() *cobra.Command {
	return &cobra.Command{
		Use: "plan PATH…", Short: "Show what these specs would start and stop", Args: some("spec files or folders"),
		RunE: func(cmd *cobra.Command, args []string) error {
			planned, err := e.planned(cmd, args)
			if err != nil {
				return err
			}
			if planned.Diagnostics.HasErrors() {
				return e.rejected(planned.Diagnostics)
			}
			if e.json {
				return e.printJSON(planned)
			}
			if err := e.warn(planned.Diagnostics); err != nil {
				return err
			}
			if planned.Plan == "" {
				planned.Plan = "Nothing to do: what these specs ask for exists.\n"
			}
			for _, address := range slices.Sorted(maps.Keys(planned.Estimates)) {
				planned.Plan += fmt.Sprintf("%s: %s\n", address, planned.Estimates[address])
			}
			_, err = fmt.Fprint(e.out, planned.Plan)
			return err
		},
	}
}

// planned asks the daemon, or where none runs looks at the files as if nothing existed.
func (e *env) planned(cmd *cobra.Command, args []string) (p api.Planned, err error) {
	settings, err := e.settings()
	if err != nil {
		return p, err
	}
	inputs, err := readSpecs(args)
	if err != nil {
		return p, err
	}
	paths := make([]string, len(args))
	for i, a := range args {
		if paths[i], err = filepath.Abs(a); err != nil {
			return p, err
		}
	}
	dir, err := e.stateDirBeside(settings, paths[0])
	if err != nil {
		return p, err
	}
	c, done, err := e.connectTo(cmd.Context(), settings, dir, true)
	if err == nil {
		defer done()
		return c.Plan(cmd.Context(), paths)
	}
	if !errors.Is(err, api.ErrNoDaemon) {
		return p, err
	}
	options := daemon.ConfigOptions(settings)
	options.Host, options.Mined = hostinfo.Machine(cmd.Context(), settings), config.NewMined()
	set := config.Load(inputs, nil, options)
	p.Diagnostics = set.Diagnostics
	if p.Diagnostics.HasErrors() {
		return p, nil
	}
	for _, m := range set.Blocks.Minings {
		p.Plan += plan.ForeseeMining(m.Address())
	}
	now := time.Now().UTC()
	for _, run := range set.Blocks.Runs {
		d, err := plan.Compile(set, run)
		if err != nil {
			return p, err
		}
		todo, limits := plan.Foresee(run.Address(), d, plan.Observed{LastFired: now}, now), hostinfo.LimitsOf(settings.Limits, options.Host)
		p.Plan += todo.String() + todo.Room(d.Parallel, limits)
		if estimate := todo.Work(d, limits).Estimate(nil); estimate != nil {
			if p.Estimates == nil {
				p.Estimates = map[string]*plan.Estimate{}
			}
			p.Estimates[run.Address()] = estimate
		}
	}
	return p, nil
}
