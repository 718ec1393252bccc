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
			changed := 0
			for _, in := range config.ReadAll(args) {
				text := config.Format(in.Text)
				if bytes.Equal(text, in.Text) {
					continue
				}
				changed++
				if _, err := fmt.Fprintln(e.out, in.Path); err != nil {
					return err
				}
				if check {
					continue
				}
				info, err := os.Stat(in.Path)
				if err != nil {
					return err
				}
				if err := renameio.WriteFile(in.Path, text, info.Mode().Perm()); err != nil {
					return fmt.Errorf("write %s: %w", in.Path, err)
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
