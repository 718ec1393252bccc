package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/daemon"
	"github.com/assayd/assayd/daemon/api"
	"github.com/assayd/assayd/reconcile/evaluate"
	"github.com/assayd/assayd/runtime/judge/round"
)

// evalFlags are what is to be judged, and how it is shown.
type evalFlags struct {
	task, archive, round      string
	run                       string
	dataset, predictions, out string
	private, output           bool
}

func (e *env) eval() *cobra.Command {
	var f evalFlags
	cmd := &cobra.Command{
		Use: "eval {--task ADDRESS --archive F|- | --run ADDRESS | --dataset ADDRESS --predictions F|-} [FILE…]", Short: "Judge an archive, what a run has stored, or a file of patches",
		Long: `eval judges one archive (tar or tar.gz, - is standard input) as a trial's would be: cleaned, in a fresh
container, with the task's judge as it is now. With --round TRIAL/ROUND it judges the archive of that
round again, by the task of its trial unless --task names another. It shows both verdicts; the stored
one stays. The task comes from FILE…, or from the spec file in force that declares it. That file is read
again, with the folders that it names. Without a daemon, eval judges by itself.

With --run it judges every archive of the finished trials of a run's last execution again, without an
agent. It shows the result that each trial would have now. No record is changed.

With --dataset benchmark.NAME and --predictions it judges a file of patches. These are predictions as
SWE-bench has them: JSON Lines, a list, or an object. Each patch is applied to a clean tree, as that of an
agent in single mode. Below --out are report.json, and the patch, output and report of each.`,
		RunE: func(cmd *cobra.Command, files []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
			defer stop()
			if err := f.check(e.json); err != nil {
				return usage{err}
			}
			switch {
			case f.dataset != "":
				return e.evalPredictions(ctx, f.dataset, f.predictions, f.out, files)
			case f.run != "":
				return e.rejudge(ctx, f.run, files)
			}
			ask, err := f.evaluation()
			if err != nil {
				return usage{err}
			}
			return e.evaluate(ctx, ask, f.archive, files, f.output)
		},
	}
	cmd.Flags().StringVar(&f.task, "task", "", `address of the task, benchmark.NAME["TASK"] or benchmark.NAME.TASK, or of a mined one, mining.NAME["TASK"]`)
	cmd.Flags().StringVar(&f.run, "run", "", "judge what the finished trials of this run have stored again, run.NAME")
	cmd.Flags().StringVar(&f.dataset, "dataset", "", "address of the benchmark that the predictions are for, benchmark.NAME")
	cmd.Flags().StringVar(&f.predictions, "predictions", "", "file of predictions to judge; - is standard input")
	cmd.Flags().StringVar(&f.out, "out", "", "folder of the report (by default the predictions' name with .eval)")
	cmd.Flags().StringVar(&f.archive, "archive", "", "tar or tar.gz to judge; - is standard input")
	cmd.Flags().StringVar(&f.round, "round", "", "judge the archive of this round again, TRIAL/ROUND")
	cmd.Flags().BoolVar(&f.output, "output", false, "print what the judge command wrote, and nothing else")
	cmd.Flags().BoolVar(&f.private, "private", false, "judge by the private set, too")
	return cmd
}

// check says which flags do not go together.
func (f evalFlags) check(json bool) error {
	one := f.task != "" || f.archive != "" || f.round != "" || f.private || f.output // of one archive
	switch {
	case (f.dataset != "") != (f.predictions != ""):
		return errors.New("give --dataset and --predictions together")
	case f.dataset != "" && one:
		return errors.New("--dataset and --predictions go with --out and spec files only")
	case f.dataset != "":
		return nil
	case f.out != "":
		return errors.New("--out goes with --predictions")
	case f.run != "" && one:
		return errors.New("--run goes with spec files only")
	case f.run != "":
		return nil
	case f.archive != "" && f.round != "":
		return errors.New("give --archive F or --round TRIAL/ROUND, not both")
	case f.archive == "" && f.round == "":
		return errors.New("give --archive F, or - for standard input, or --round TRIAL/ROUND")
	case f.output && json:
		return errors.New("give --output or --json, not both")
	case f.task == "" && f.round == "":
		return errors.New(`give the task with --task, as benchmark.NAME["TASK"]`)
	}
	return nil
}

// evaluation asks for the judging of one archive.
func (f evalFlags) evaluation() (evaluate.Evaluation, error) {
	ask := evaluate.Evaluation{Task: f.task, Private: f.private}
	if f.round == "" {
		return ask, nil
	}
	at := strings.LastIndexByte(f.round, '/')
	if at <= 0 || at == len(f.round)-1 {
		return ask, fmt.Errorf("--round %s: write TRIAL/ROUND, as nightly.e1.01234567/agent-3", f.round)
	}
	ask.Trial, ask.Round = f.round[:at], f.round[at+1:]
	return ask, nil
}

func (e *env) evaluate(ctx context.Context, ask evaluate.Evaluation, archive string, files []string, output bool) error {
	if archive == "-" {
		ask.Archive = os.Stdin
	} else if archive != "" {
		f, err := os.Open(archive)
		if err != nil {
			return usage{fmt.Errorf("read the archive: %w", err)}
		}
		defer func() { _ = f.Close() }() // only read
		if info, err := f.Stat(); err == nil && info.IsDir() {
			return usage{fmt.Errorf("read the archive: %s is a folder; to judge its content: tar c -C %s . | assayd eval --archive - …", archive, archive)}
		}
		ask.Archive = f
	}
	c, done, err := e.judging(ctx, &ask, files)
	if err != nil {
		return err
	}
	out, err := c.Eval(ctx, ask)
	if err == nil && output && !out.Diagnostics.HasErrors() {
		err = e.showOutput(ctx, c, out)
	}
	if err = errors.Join(err, done()); err != nil {
		if api.Correctable(err) {
			return usage{err}
		}
		return err
	}
	if out.Diagnostics.HasErrors() {
		return e.rejected(out.Diagnostics)
	}
	if !output {
		if err := e.showEvaluated(out); err != nil {
			return err
		}
	}
	if out.Report.Status == round.StatusError || out.Private != nil && out.Private.Status == round.StatusError {
		return exit{ExitFailed}
	}
	return nil
}

// judging returns a client of the daemon of the state directory or, where none runs, of a
// judge in this process, which each of able has to allow by its settings. Files are looked
// through before anything is made.
func (e *env) judging(ctx context.Context, ask *evaluate.Evaluation, files []string, able ...func(*config.Settings) error) (c *api.Client, done func() error, err error) {
	settings, err := e.settings()
	if err != nil {
		return nil, nil, err
	}
	dir, err := e.judgingState(settings, ask, files)
	if err != nil {
		return nil, nil, err
	}
	c, done, err = e.judgeAt(ctx, settings, dir, files, able...)
	if err == nil && len(files) > 0 {
		if err = e.fetch(ctx, c, ask.Files, nil); err != nil {
			err = errors.Join(err, done())
		}
	}
	return c, done, err
}

// judgeAt is judging on a state directory.
func (e *env) judgeAt(ctx context.Context, settings *config.Settings, dir string, files []string, able ...func(*config.Settings) error) (c *api.Client, done func() error, err error) {
	c = api.NewClient(api.Socket(dir))
	switch _, err = c.Version(ctx); {
	case err == nil:
		return c, func() error { c.Close(); return nil }, nil
	case !errors.Is(err, api.ErrNoDaemon):
		return nil, nil, err
	}
	if len(files) == 0 { // what was accepted has to be there
		_, finish, err := e.connectTo(ctx, settings, dir, true)
		if err != nil {
			return nil, nil, err
		}
		finish()
	}
	for _, check := range able {
		if err := check(settings); err != nil {
			return nil, nil, err
		}
	}
	log, err := e.runLogger(settings)
	if err != nil {
		return nil, nil, usage{err}
	}
	if _, err := askEngine(ctx, settings); err != nil {
		return nil, nil, fmt.Errorf("nothing was done: %w", err)
	}
	return daemon.Alone(ctx, daemon.Options{Settings: settings, StateDir: dir, Version: e.version, Log: log})
}

// judgingState is the state directory of a command that may name spec files, which it
// checks and enters by absolute path.
func (e *env) judgingState(settings *config.Settings, ask *evaluate.Evaluation, files []string) (dir string, err error) {
	if len(files) == 0 {
		return e.stateDir(settings)
	}
	inputs, err := readSpecs(files)
	if err != nil {
		return "", err
	}
	if set := compile(inputs, settings); set.Diagnostics.HasErrors() {
		return "", e.rejected(set.Diagnostics)
	}
	for _, in := range inputs {
		ask.Files = append(ask.Files, in.Path)
	}
	if e.state != "" {
		return filepath.Abs(e.state)
	}
	return filepath.Abs(filepath.Join(filepath.Dir(ask.Files[0]), localState))
}
