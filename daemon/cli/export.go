package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/assayd/assayd/daemon"
	"github.com/assayd/assayd/daemon/web"
	"github.com/assayd/assayd/daemon/web/page"
	"github.com/assayd/assayd/reconcile/export"
	"github.com/assayd/assayd/reconcile/history"
	"github.com/assayd/assayd/reconcile/store"
)

func (e *env) export() *cobra.Command {
	var execution int
	var from string
	var html web.ExportOptions
	cmd := &cobra.Command{
		Use: "export FORMAT SRC DIR", Short: "Write tasks, or the results of a run, in another system's layout",
		Long: `export works with and without a daemon. What it writes depends on SRC.

Tasks: SRC is a benchmark or a task of the specs in force (benchmark.NAME, benchmark.NAME["TASK"]), or mined tasks
(mining.NAME, mining.NAME["TASK"]). It may also be a spec file, or a folder of them. With --from FORMAT it is a folder or a
file of tasks in another format. DIR is new or empty. A task that the format cannot hold is left out; a message says why. Formats:
  ` + strings.Join(daemon.FormatNames(), ", ") + `

Patches: assayd export predictions run.NAME FILE|DIR writes the model_patch of every trial of a run's last execution as
predictions of SWE-bench. In single mode it is the patch that was judged, else one made of the archive that counts. FILE ends
in .jsonl; below DIR each agent and attempt has a folder with all_preds.jsonl.

Pages: assayd export html run.NAME DIR writes the pages of a run, its trials, and their rounds as files that open in a browser from
the disk. Tests, outputs, logs, steps, and diffs are in them only with --with. Of a run with more than 1,000 trials, those that are
not resolved have a page.

Results: SRC is a run, run.NAME. The results of its last execution are written below DIR. DIR must be new or empty, or
hold exports of runs; an earlier one of this run is brought up to date. Formats:
  sforge-logs   runs/<run>.e<N>/<task>/ with final_result.json, run_history.json, submissions/<round>/report.json, …
  harbor        jobs/<run>.e<N>/ with result.json of the job and of each trial, and what its verifier left
  ctrf, junit   ctrf/<run>.e<N>/<trial>.json, junit/<run>.e<N>/<trial>.xml: the tests of the round that counts
  inspect       inspect/<run>.e<N>/<agent>.<model>.eval, a log for each`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 3 {
				return usage{errors.New("give a format, what to export and a folder, as in: assayd export sforge-logs run.nightly logs, or assayd export harbor benchmark.edge tasks")}
			}
			return checkExport(args[0], args[1], from, execution)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
			defer stop()
			switch {
			case args[0] == htmlFormat:
				html.Run, html.Execution = args[1], execution
				return e.exportHTML(ctx, html, args[2])
			case args[0] == predictionsFormat:
				return e.exportPredictions(ctx, args[1], args[2])
			case from != "" || !isRun(args[1]):
				return e.exportTasks(ctx, args[0], from, args[1], args[2])
			}
			return e.exportRun(ctx, args[0], args[1], execution, args[2])
		},
	}
	cmd.Flags().IntVar(&execution, "execution", 0, "of this execution of a run (default: the last)")
	cmd.Flags().StringSliceVar(&html.With, "with", nil, "with html: "+strings.Join(page.Contents(), ", "))
	cmd.Flags().BoolVar(&html.Public, "public", false, "with html: leave out what could tell of hidden tests, and paths of this machine")
	cmd.Flags().StringVar(&from, "from", "", "SRC is a folder or a file of tasks in this format: "+strings.Join(daemon.FormatNames(), ", "))
	return cmd
}

// exportFormats are the formats of tasks and of results, some of which are both.
func exportFormats() []string {
	all := append(export.Formats(), predictionsFormat, htmlFormat)
	for _, name := range daemon.FormatNames() {
		if !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	return all
}

// checkExport tells what does not go together.
func checkExport(format, of, from string, execution int) error {
	_, ofTasks := daemon.Formats()[format]
	ofRuns := slices.Contains(export.Formats(), format)
	_, known := daemon.Formats()[from]
	switch {
	case !ofTasks && !ofRuns && format != predictionsFormat && format != htmlFormat:
		return usage{fmt.Errorf("there is no format %q; there are %s", format, strings.Join(exportFormats(), ", "))}
	case from != "" && !known:
		return usage{fmt.Errorf("--from: there is no format %q; there are %s", from, strings.Join(daemon.FormatNames(), ", "))}
	case (format == predictionsFormat || format == htmlFormat) && (from != "" || !isRun(of)):
		return usage{fmt.Errorf("%s are of a run, run.NAME, and not of %s", map[bool]string{true: "pages", false: "predictions"}[format == htmlFormat], of)}
	case (from != "" || !isRun(of)) && !ofTasks:
		return usage{fmt.Errorf("%s is a format of results, for a run; tasks are written as %s", format, strings.Join(daemon.FormatNames(), ", "))}
	case (from != "" || !isRun(of)) && execution != 0:
		return usage{errors.New("--execution is of a run, and tasks have none")}
	case from == "" && isRun(of) && !ofRuns && format != predictionsFormat && format != htmlFormat:
		return usage{fmt.Errorf("%s is a format of tasks, and %s is neither an address such as benchmark.NAME nor a spec file; results of a run are written as %s", format, of, strings.Join(export.Formats(), ", "))}
	}
	return nil
}

func (e *env) exportRun(ctx context.Context, format, address string, execution int, dir string) (err error) {
	_, state, err := e.place()
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
	if errors.Is(err, history.ErrUnknown) && !strings.HasPrefix(address, "run.") {
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
