package cli

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

func (e *env) rerun() *cobra.Command {
	return &cobra.Command{
		Use: "rerun ADDRESS|TRIAL", Short: "Do a run, or one trial's cell, once more", Args: one("one run or trial"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, done, err := e.connect(cmd.Context(), false)
			if err != nil {
				return err
			}
			defer done()
			if err := c.Rerun(cmd.Context(), args[0]); err != nil {
				return err
			}
			_, err = fmt.Fprintf(e.out, "%s runs again\n", args[0])
			return err
		},
	}
}

func (e *env) cancel() *cobra.Command {
	return &cobra.Command{
		Use: "cancel ADDRESS|TRIAL", Short: "End a run's execution, or one trial", Args: one("one run or trial"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, done, err := e.connect(cmd.Context(), false)
			if err != nil {
				return err
			}
			defer done()
			if err := c.Cancel(cmd.Context(), args[0]); err != nil {
				return err
			}
			_, err = fmt.Fprintf(e.out, "%s is being cancelled\n", args[0])
			return err
		},
	}
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
