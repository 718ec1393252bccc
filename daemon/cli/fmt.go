package cli

import (
	"bytes"
	"fmt"
	"os"

	"github.com/google/renameio/v2"
	"github.com/spf13/cobra"

	"github.com/assayd/assayd/config"
)

func (e *env) format() *cobra.Command {
	var check bool
	cmd := &cobra.Command{
		Use: "fmt PATH…", Short: "Put spec files into the canonical layout", Args: some("spec files or folders"),
		RunE: func(_ *cobra.Command, args []string) error {
			inputs, err := readSpecs(args)
			if err != nil {
				return err
			}
			changed := 0
			for _, in := range inputs {
				differs, err := e.formatFile(in, check)
				if err != nil {
					return err
				}
				if differs {
					changed++
				}
			}
			if check && changed > 0 {
				return exit{ExitFailed}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&check, "check", false, "change nothing; exit 1 when a file would change")
	return cmd
}

// formatFile names a file whose layout differs, and puts it right unless it is only
// checked.
func (e *env) formatFile(in config.Input, check bool) (differs bool, err error) {
	if in.Refused != "" {
		return false, usage{fmt.Errorf("%s: %s", in.Path, in.Refused)}
	}
	text := config.Format(in.Text)
	if bytes.Equal(text, in.Text) {
		return false, nil
	}
	if _, err := fmt.Fprintln(e.out, relative(in.Path)); err != nil || check {
		return true, err
	}
	info, err := os.Stat(in.Path)
	if err != nil {
		return true, err
	}
	if err := renameio.WriteFile(in.Path, text, info.Mode().Perm()); err != nil {
		return true, fmt.Errorf("write %s: %w", in.Path, err)
	}
	return true, nil
}
