package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/assayd/assayd/daemon"
	"github.com/assayd/assayd/runtime/container"
)

func (e *env) shell() *cobra.Command {
	var judge bool
	cmd := &cobra.Command{
		Use: "shell TRIAL", Short: "Open a shell in a container that a run kept", Args: one("one trial"),
		Long: `shell starts the container in which a trial's agent worked, as the trial left it, and opens a shell in it as root.
With --judge it is the container of the judging that decided, with the hidden files. The run must have
keep = "always", or "failed" for a trial that is not resolved. The agent is not started again, the container cannot reach
the daemon, and the network is that of the trial. Be careful: the agent may have replaced the programs that you call there,
and their output reaches you as it is. At a terminal the shell is interactive; else it reads commands from
standard input. When it ends, the container is stopped, and keeps what you changed. The trial's numbers stay as
they are. The container of a trial that is under way cannot be entered: that could change what it is scored by.
assayd gc removes kept containers. This command talks to the container engine itself: you need the right to use it.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
			defer stop()
			settings, dir, err := e.place()
			if err != nil {
				return err
			}
			s := daemon.Shell{Trial: args[0], Judge: judge, Stdin: os.Stdin, Stdout: e.out, Stderr: e.err}
			restore, err := e.atTerminal(&s)
			if err != nil {
				return err
			}
			code, err := daemon.Enter(ctx, settings, dir, s)
			err = errors.Join(err, restore())
			if err == nil && code != 0 {
				return exit{code}
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&judge, "judge", false, "enter the judge's container, which holds the hidden files")
	return cmd
}

// atTerminal gives the shell this terminal, if there is one: as it is, and with its sizes, until
// restore is called.
func (e *env) atTerminal(s *daemon.Shell) (restore func() error, err error) {
	in := int(os.Stdin.Fd())
	out, ok := e.out.(*screen)
	if !ok || !term.IsTerminal(in) {
		return func() error { return nil }, nil
	}
	before, err := term.MakeRaw(in)
	if err != nil {
		return nil, fmt.Errorf("give the terminal to the shell: %w", err)
	}
	changed, done := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(changed, syscall.SIGWINCH)
	sizes := make(chan container.Size, 1)
	go func() {
		defer close(sizes)
		for {
			if columns, rows, err := term.GetSize(in); err == nil {
				select {
				case sizes <- container.Size{Columns: uint(columns), Rows: uint(rows)}: //nolint:gosec // a terminal's size is not negative
				case <-done:
					return
				}
			}
			select {
			case <-changed:
			case <-done:
				return
			}
		}
	}()
	s.Stdout, s.Stderr, s.Terminal, s.Term = out.w, io.Discard, sizes, os.Getenv("TERM")
	return func() error {
		signal.Stop(changed)
		close(done)
		for range sizes { // until it is closed
		}
		return term.Restore(in, before)
	}, nil
}
