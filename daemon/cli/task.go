package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/daemon"
	"github.com/assayd/assayd/reconcile/query"
	"github.com/assayd/assayd/reconcile/taskcheck"
)

func (e *env) task() *cobra.Command {
	cmd := &cobra.Command{
		Use: "task", Short: "What concerns single tasks", Args: nothing,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(e.taskCheck())
	return cmd
}

func (e *env) taskCheck() *cobra.Command {
	var f checkFlags
	cmd := &cobra.Command{
		Use: "check {ADDRESS|DIR} [FILE…]", Short: "Is a task sound: does its solution pass, and nothing else?",
		Long: `check says whether tasks are sound. ADDRESS is a task, a whole benchmark, or all tasks of a mining spec, of FILE… or in
force. DIR is a folder of tasks in another format (--format, or guessed), a folder of spec files, or a spec file.

It checks of each task, in fresh containers:
  - The solution passes, the untouched tree fails as the task says, and an empty patch fails.
  - Each of --repeat times shows the same.
  - The finished work image holds nothing of the hidden files and the solution, and no Git object beyond the commit.
  - The instruction names neither the change nor hidden tests.
  - Adversaries, made of the task, do not pass: code 0 on import or at the end, conftest.py, edited configuration,
    a patched runner, printed marks of success.

A task is sound, flagged (a verdict may be had without the work), or broken (no verdict means anything). For a task in
force a record task.validated is written to <stem>.benchmark.<name>.jsonl. Without a daemon it judges by itself.

With --quality a model rates each task, as mining does: how good it is (0 to 1), and how hard (easy, medium, hard, and a
score). It sees the instruction, the solution as a diff, and the hidden files, but no private set.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage{errors.New(`give a task or a benchmark, benchmark.NAME["TASK"] or benchmark.NAME, or a folder of tasks`)}
			}
			if err := f.check(cmd); err != nil {
				return usage{err}
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
			defer stop()
			return e.checkTasks(ctx, args[0], args[1:], f)
		},
	}
	cmd.ValidArgsFunction = e.completeTaskOrFile
	cmd.Flags().StringVar(&f.format, "format", "", "of the tasks in DIR: "+strings.Join(daemon.FormatNames(), ", "))
	cmd.Flags().IntVar(&f.repeat, "repeat", 3, "how often the solution and the untouched tree are judged")
	cmd.Flags().BoolVar(&f.quality, "quality", false, "have a model rate each task")
	cmd.Flags().StringVar(&f.rater.Provider, "provider", config.MiningProvider, "of the model that rates, one of the settings")
	cmd.Flags().StringVar(&f.rater.Model, "model", config.MiningModel, "that rates")
	return cmd
}

// checkFlags say how tasks are checked.
type checkFlags struct {
	format  string
	repeat  int
	quality bool
	rater   taskcheck.Rater
}

func (f checkFlags) check(cmd *cobra.Command) error {
	switch {
	case f.repeat < 1:
		return fmt.Errorf("--repeat %d: once is the least", f.repeat)
	case !f.quality && (cmd.Flags().Changed("provider") || cmd.Flags().Changed("model")):
		return errors.New("--provider and --model go with --quality")
	case f.quality && f.rater.Model == "":
		return errors.New("--model: name one")
	}
	return nil
}

// checkTasks finds out what is to be checked, and checks it.
func (e *env) checkTasks(ctx context.Context, what string, files []string, f checkFlags) (err error) {
	k := &taskChecks{e: e, repeat: f.repeat}
	if f.quality {
		k.rater = &f.rater
	}
	switch {
	case isAddress(what):
		if f.format != "" {
			return usage{errors.New("--format goes with a folder of tasks")}
		}
		k.address = what
	case len(files) > 0:
		return usage{fmt.Errorf("%s is no address, benchmark.NAME; give it before the spec files", what)}
	case !exists(what):
		return usage{fmt.Errorf("there is no folder %s; a task is named as benchmark.NAME[\"TASK\"]", what)}
	case f.format == "" && holdsSpecs(what):
		files = []string{what}
	default:
		spec, err := e.importing(what, f.format)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.Remove(spec)) }()
		files = []string{spec}
	}
	c, done, err := e.judging(ctx, &k.ask, files, k.rateable)
	if err != nil {
		return err
	}
	k.client = c
	err = errors.Join(k.all(ctx), done())
	if err != nil {
		return err
	}
	return k.conclude()
}

// holdsSpecs reports whether a path is a spec file or a folder with one.
func holdsSpecs(path string) bool {
	if filepath.Ext(path) == ".hcl" {
		return true
	}
	found, err := filepath.Glob(filepath.Join(path, "*.hcl"))
	return err == nil && len(found) > 0
}

// importing writes a spec that imports a folder of tasks, for a while: the caller removes it.
// It lies beside the folder, because specs reach nothing else, and so does what is made of the
// tasks; its name is one that nobody takes for a spec by the way.
func (e *env) importing(dir, format string) (spec string, err error) {
	whole, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if format == "" {
		if format = guessFormat(whole); format == "" {
			return "", usage{fmt.Errorf("%s holds no spec file and no tasks in a format that shows; name it with --format: %s", dir, strings.Join(daemon.FormatNames(), ", "))}
		}
	}
	if !slices.Contains(daemon.FormatNames(), format) {
		return "", usage{fmt.Errorf("there is no format %q; there are %s", format, strings.Join(daemon.FormatNames(), ", "))}
	}
	if e.state == "" {
		e.state = filepath.Join(filepath.Dir(whole), localState)
	}
	f, err := os.CreateTemp(filepath.Dir(whole), ".assayd-check-*.hcl")
	if err != nil {
		return "", fmt.Errorf("write a spec for %s beside it: %w", dir, err)
	}
	_, err = fmt.Fprintf(f, "benchmark %q {\n  import %q {\n    path = %s\n  }\n}\n", benchmarkName(whole), format, quotedHCL(filepath.Base(whole)))
	if err = errors.Join(err, f.Chmod(0o644), f.Close()); err != nil { // a daemon of another user reads it
		return "", errors.Join(fmt.Errorf("write a spec for %s beside it: %w", dir, err), os.Remove(f.Name()))
	}
	return f.Name(), nil
}

// quotedHCL is a text as HCL reads it, with nothing in it that is worked out.
func quotedHCL(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "${", "$${", "%{", "%%{").Replace(text) + `"`
}

// benchmarkName is the name of a folder as one of a benchmark.
func benchmarkName(dir string) string {
	name := strings.Trim(strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z' || '0' <= r && r <= '9' || r == '-' || r == '_':
			return r
		case 'A' <= r && r <= 'Z':
			return r - 'A' + 'a'
		}
		return '-'
	}, filepath.Base(dir)), "-_0123456789")
	if name == "" {
		return "tasks"
	}
	return name[:min(len(name), 40)]
}

// formatMarks are files by which a format shows.
func formatMarks() []struct{ pattern, format string } {
	return []struct{ pattern, format string }{
		{"BENCHMARK.yaml", "sforge"},
		{"workspace.yaml", "sweforge"},
		{"task.toml", "harbor"},
		{"task.yaml", "terminal-bench"},
		{"sweb.yaml", "swebench"},
		{"*.jsonl", "swebench"},
		{"*.parquet", "swebench"},
	}
}

// guessFormat looks for a file that only one format has, in the folder and a little below it.
func guessFormat(dir string) string {
	for _, depth := range []string{".", "*", filepath.Join("*", "*")} {
		for _, m := range formatMarks() {
			if found, err := filepath.Glob(filepath.Join(escaped(dir), depth, m.pattern)); err == nil && len(found) > 0 {
				return m.format
			}
		}
	}
	if info, err := os.Stat(dir); err == nil && !info.IsDir() && slices.Contains([]string{".jsonl", ".json", ".parquet"}, filepath.Ext(dir)) {
		return "swebench"
	}
	return ""
}

// escaped is a path as a pattern that matches it alone.
func escaped(dir string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(dir)
}

// isAddress reports whether an argument is the address of a task, or of what has tasks.
func isAddress(arg string) bool {
	return (strings.HasPrefix(arg, "benchmark.") || strings.HasPrefix(arg, "mining.")) && !exists(arg)
}

// asked reports whether an address is asked for: of a benchmark or a mining spec, or of a task.
func asked(t query.TaskInfo, address string) bool {
	return address == "" || address == wholeOf(t) || address == t.Address || address == wholeOf(t)+"."+t.ID
}

// wholeOf is the address of what a task is one of.
func wholeOf(t query.TaskInfo) string {
	address, _, _ := strings.Cut(t.Address, "[")
	return address
}
