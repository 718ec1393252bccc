package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
)

// Exit codes.
const (
	ExitOK     = 0
	ExitFailed = 1 // something failed; standard error says what
	ExitSpecs  = 2 // the specs or the command line are wrong; nothing was started
)

// env is what the commands share: flags of all of them and where they write.
type env struct {
	out, err io.Writer
	version  string

	state  string
	config string
	json   bool
}

// exit is an error that only says which code to leave with: what is wrong was shown.
type exit struct{ code int }

func (e exit) Error() string { return fmt.Sprintf("exit %d", e.code) }

// usage marks errors of the command line.
type usage struct{ error }

// Main runs the command line and returns the exit code.
func Main(ctx context.Context, args []string, stdout, stderr io.Writer, version string) int {
	stdout, stderr = onScreen(stdout), onScreen(stderr)
	for _, w := range []io.Writer{stdout, stderr} {
		if s, ok := w.(*screen); ok {
			defer func() { _ = s.Close() }()
		}
	}
	e := &env{out: stdout, err: stderr, version: version}
	root := New(e)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err != nil && strings.HasPrefix(err.Error(), "unknown command ") { // cobra has no other word for it
		err = usage{err}
	}
	var code exit
	var wrong usage
	switch {
	case err == nil:
		return ExitOK
	case errors.As(err, &code):
		return code.code
	case errors.As(err, &wrong):
		fmt.Fprintf(stderr, "Error: %s\n", err)
		return ExitSpecs
	}
	fmt.Fprintf(stderr, "Error: %s\n", err)
	return ExitFailed
}

// New returns the command tree.
func New(e *env) *cobra.Command {
	root := &cobra.Command{
		Use:           "assayd",
		Short:         "Run coding agents on tasks, judge what they submit, keep the score",
		Long:          "assayd evaluates coding agents as HCL files in watched folders declare it. It runs them on tasks in containers,\njudges every submission in a fresh hidden container, and appends the scores as JSON lines beside the specs.",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.SetOut(e.out)
	root.SetErr(e.err)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usage{err} })
	root.PersistentFlags().StringVar(&e.state, "state", "", "state directory (default: of the settings; for run, harness and mine, .assayd beside the first file)")
	root.PersistentFlags().StringVar(&e.config, "config", "", "settings file (default: /etc/assayd/assayd.hcl if it is there)")
	root.PersistentFlags().BoolVar(&e.json, "json", false, "print JSON for programs")
	root.AddCommand(
		e.serve(), e.run(), e.validate(), e.plan(), e.format(), e.status(), e.results(), e.numbers(), e.compare(), e.logs(), e.submissions(), e.shell(),
		e.rerun(), e.retry(), e.cancel(), e.stop(), e.extend(), e.pause(), e.resume(), e.throttle(), e.drain(), e.note(), e.tag(), e.untag(), e.eval(), e.harness(), e.mine(), e.task(), e.importTasks(), e.export(), e.images("build"), e.images("pull"), e.images("push"), e.gc(), e.doctor(), e.web(), e.top(), e.printVersion(),
	)
	explain(root)
	e.completes(root)
	return root
}

// usageOf is how a command is written: "assayd run FILE…".
func usageOf(cmd *cobra.Command) string { return cmd.Parent().CommandPath() + " " + cmd.Use }

// one wants one argument, and says which.
func one(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 {
			return usage{fmt.Errorf("give %s: %s", what, usageOf(cmd))}
		}
		return nil
	}
}

func nothing(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usage{fmt.Errorf("%s takes no arguments, and here is %q", cmd.Name(), args[0])}
	}
	return nil
}

func atMostOne(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > 1 {
			return usage{fmt.Errorf("give one %s, or none for all: %s", what, usageOf(cmd))}
		}
		return nil
	}
}

func some(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return usage{fmt.Errorf("give %s: %s", what, usageOf(cmd))}
		}
		return nil
	}
}

func (e *env) printVersion() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: nothing,
		RunE: func(*cobra.Command, []string) error {
			if e.json {
				return e.printJSON(map[string]string{"version": e.version})
			}
			_, err := fmt.Fprintln(e.out, "assayd", e.version)
			return err
		},
	}
}

// exists reports whether a path is there.
func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
