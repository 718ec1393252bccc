package cli

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/assayd/assayd/daemon/api"
	"github.com/assayd/assayd/reconcile/control"
)

func (e *env) rerun() *cobra.Command {
	var failed bool
	cmd := &cobra.Command{
		Use: "rerun ADDRESS|TRIAL", Short: "Do a run, or one trial's cell, once more", Args: one("one run or trial"),
		Long: "rerun begins a new execution of a run, or of one trial's cell, and reads the content that it uses (folders,\nfile(), env(), datasets) again, for that run alone. With --failed it is retry.",
		RunE: func(cmd *cobra.Command, args []string) error {
			c, done, err := e.connect(cmd.Context(), false)
			if err != nil {
				return err
			}
			defer done()
			if failed {
				return e.tryAgain(cmd.Context(), c, args[0])
			}
			r, err := c.Rerun(cmd.Context(), args[0])
			switch {
			case err != nil:
				return err
			case e.json:
				return e.printJSON(r)
			case r.Differs != nil:
				fmt.Fprintln(e.out, r.Differs.Since("the execution before"))
			}
			_, err = fmt.Fprintf(e.out, "%s runs again\n", args[0])
			return err
		},
	}
	cmd.Flags().BoolVar(&failed, "failed", false, "only trials that are excluded from rates, in the same execution, as retry does")
	return cmd
}

func (e *env) retry() *cobra.Command {
	return &cobra.Command{
		Use: "retry ADDRESS|TRIAL", Short: "Try trials again that are excluded from rates", Args: one("one run or trial"),
		Long: "retry tries again, in the same execution, the trials of a run that ended with setup_error, infra_error,\nsanity_fail or cancelled, or one such trial. The content of a task without a verdict that counts is read again.",
		RunE: func(cmd *cobra.Command, args []string) error {
			c, done, err := e.connect(cmd.Context(), false)
			if err != nil {
				return err
			}
			defer done()
			return e.tryAgain(cmd.Context(), c, args[0])
		},
	}
}

func (e *env) tryAgain(ctx context.Context, c *api.Client, name string) error {
	r, err := c.Retry(ctx, name)
	if err != nil {
		return err
	}
	if e.json {
		return e.printJSON(r)
	}
	for _, task := range r.Repinned {
		fmt.Fprintf(e.out, "%s: content as it is now\n", task)
	}
	_, err = fmt.Fprintf(e.out, "%s: %s of e%d tried again\n", r.Run, counted(len(r.Trials), "trial"), r.Execution)
	return err
}

// askFlags are those of the commands that end something.
func askFlags(cmd *cobra.Command, a *control.Ask) {
	cmd.Flags().StringVar(&a.Reason, "reason", "", "why; recorded and shown")
	addDry(cmd, &a.DryRun)
}

func (e *env) cancel() *cobra.Command {
	var a control.Ask
	cmd := &cobra.Command{
		Use: "cancel ADDRESS|TRIAL", Short: "End a run's execution, or one trial", Args: one("one run or trial"),
		RunE: func(cmd *cobra.Command, args []string) error {
			a.Target = args[0]
			return e.change(cmd, a.DryRun, false, func(ctx context.Context, c *api.Client) (control.Changed, error) { return c.Cancel(ctx, a) })
		},
	}
	askFlags(cmd, &a)
	return cmd
}

func (e *env) stop() *cobra.Command {
	var a control.Ask
	cmd := &cobra.Command{
		Use: "stop TRIAL", Short: "Make the time of a trial be over now, and judge what it has", Args: one("one trial"),
		RunE: func(cmd *cobra.Command, args []string) error {
			a.Target = args[0]
			return e.change(cmd, a.DryRun, false, func(ctx context.Context, c *api.Client) (control.Changed, error) { return c.Stop(ctx, a) })
		},
	}
	askFlags(cmd, &a)
	return cmd
}

func (e *env) extend() *cobra.Command {
	var m control.MoreTime
	cmd := &cobra.Command{
		Use: "extend TRIAL D", Short: "Give a trial more time than its spec declares",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 2 {
				return usage{fmt.Errorf("give a trial, and by how much its deadline moves, as 30m or 2h: %s", usageOf(cmd))}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := time.ParseDuration(args[1])
			if err != nil || d < time.Second || d%time.Second != 0 {
				return usage{fmt.Errorf("extend %s by %q: write the time in whole seconds, as 30m or 2h", args[0], args[1])}
			}
			m.Target, m.Seconds = args[0], int64(d/time.Second)
			return e.change(cmd, m.DryRun, false, func(ctx context.Context, c *api.Client) (control.Changed, error) { return c.Extend(ctx, m) })
		},
	}
	askFlags(cmd, &m.Ask)
	return cmd
}

func (e *env) drain() *cobra.Command {
	var a control.Ask
	cmd := &cobra.Command{
		Use: "drain", Short: "Pause everything; end a daemon of serve --drain when nothing works", Args: nothing,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return e.change(cmd, a.DryRun, false, func(ctx context.Context, c *api.Client) (control.Changed, error) { return c.Drain(ctx, a) })
		},
	}
	askFlags(cmd, &a)
	return cmd
}

func (e *env) results() *cobra.Command {
	var follow bool
	cmd := &cobra.Command{
		Use: "results ADDRESS", Short: "Print the records of a run as JSON lines", Args: one("one run"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, done, err := e.connect(cmd.Context(), true)
			if err != nil {
				return err
			}
			defer done()
			stream, err := c.Results(cmd.Context(), args[0], 1, e.onlyLive(c, follow))
			if err != nil {
				return err
			}
			return e.copyOut(cmd, stream)
		},
	}
	cmd.Flags().BoolVar(&follow, "follow", false, "go on with records as they come")
	return cmd
}

func (e *env) logs() *cobra.Command {
	var follow bool
	var try int
	cmd := &cobra.Command{
		Use: "logs TRIAL", Short: "Print what a trial's agent wrote", Args: one("one trial"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, done, err := e.connect(cmd.Context(), true)
			if err != nil {
				return err
			}
			defer done()
			stream, err := c.Logs(cmd.Context(), args[0], try, e.onlyLive(c, follow))
			if err != nil {
				return err
			}
			return e.copyOut(cmd, stream)
		},
	}
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "go on until the trial is over")
	cmd.Flags().IntVar(&try, "try", 0, "of this try (default: the last)")
	return cmd
}

// copyOut prints a stream until it ends or the user stops it.
func (e *env) copyOut(cmd *cobra.Command, stream io.ReadCloser) error {
	defer func() { _ = stream.Close() }()
	if _, err := io.Copy(e.out, stream); err != nil && cmd.Context().Err() == nil {
		return err
	}
	return nil
}
