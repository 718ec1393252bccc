package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/assayd/assayd/reconcile"
	"github.com/assayd/assayd/reconcile/export"
	"github.com/assayd/assayd/reconcile/store"
)

func (e *env) export() *cobra.Command {
	var execution int
	cmd := &cobra.Command{
		Use: "export FORMAT RUN DIR", Short: "Write the results of a run in another system's layout",
		Long: `export writes the results of a run's last execution below DIR, which must be new or empty, or hold
exports of this or other runs; an earlier one of the run is brought up to date. It works with and without a daemon.

Formats:
  sforge-logs   runs/<run>.e<N>/<task>/ with final_result.json, run_history.json, submissions/<round>/report.json, …
  harbor        jobs/<run>.e<N>/ with result.json of the job and of each trial, and what its verifier left
  ctrf, junit   ctrf/<run>.e<N>/<trial>.json, junit/<run>.e<N>/<trial>.xml: the tests of the round that counts
  inspect       inspect/<run>.e<N>/<agent>.<model>.eval, a log for each`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 3 {
				return usage{errors.New("give a format, a run and a folder, as in: assayd export sforge-logs run.nightly logs")}
			}
			if !slices.Contains(export.Formats(), args[0]) {
				return usage{fmt.Errorf("there is no format %q; there are %s", args[0], strings.Join(export.Formats(), ", "))}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return e.exportRun(cmd.Context(), args[0], args[1], execution, args[2])
		},
	}
	cmd.Flags().IntVar(&execution, "execution", 0, "of this execution (default: the last)")
	return cmd
}

func (e *env) exportRun(ctx context.Context, format, address string, execution int, dir string) (err error) {
	settings, err := e.settings()
	if err != nil {
		return err
	}
	state, err := e.stateDir(settings)
	if err != nil {
		return err
	}
	s, err := store.Open(ctx, state, store.Options{ReadOnly: true})
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no state of a daemon in %s; name the state directory with --state", state)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	written, err := export.Write(ctx, s, format, address, execution, dir, e.version)
	if taken, ok := errors.AsType[*export.TakenError](err); ok {
		return usage{taken}
	}
	if errors.Is(err, reconcile.ErrUnknown) && !strings.HasPrefix(address, "run.") {
		err = fmt.Errorf("%w; did you mean run.%s?", err, address)
	}
	if err != nil {
		return err
	}
	if e.json {
		return e.printJSON(written)
	}
	for _, run := range written.Runs {
		fmt.Fprintln(e.out, filepath.Join(dir, run))
	}
	_, err = fmt.Fprintf(e.err, "%s, %s\n", counted(written.Trials, "trial"), counted(written.Rounds, "round"))
	return err
}
