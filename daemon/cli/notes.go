package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/assayd/assayd/daemon/api"
	"github.com/assayd/assayd/reconcile/control"
	"github.com/assayd/assayd/reconcile/note"
)

func (e *env) note() *cobra.Command {
	return e.noting("note TARGET TEXT", "Leave a line of text at a run, a mining spec, or a trial", func(a *control.Noted, text string) { a.Text = text })
}

func (e *env) tag() *cobra.Command {
	return e.noting("tag TARGET TAG", "Tag a run, a mining spec, or a trial", func(a *control.Noted, text string) { a.Tag = text })
}

func (e *env) untag() *cobra.Command {
	return e.noting("untag TARGET TAG", "Remove a tag", func(a *control.Noted, text string) { a.Tag, a.Remove = text, true })
}

// noting is a command that notes something; say puts what is noted into what is asked for.
func (e *env) noting(use, short string, say func(*control.Noted, string)) *cobra.Command {
	var a control.Noted
	cmd := &cobra.Command{
		Use: use, Short: short,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 2 {
				return usage{fmt.Errorf("give a run, a mining spec, or a trial, and what to note; a text with spaces needs quotes: %s", usageOf(cmd))}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			a.Target = args[0]
			say(&a, args[1])
			return e.change(cmd, a.DryRun, false, func(ctx context.Context, c *api.Client) (control.Changed, error) { return c.Note(ctx, a) })
		},
	}
	addDry(cmd, &a.DryRun)
	return cmd
}

// showNotes shows what users have noted.
func showNotes(w io.Writer, s note.Set) {
	if len(s.Tags) > 0 {
		fmt.Fprintf(w, "  tags: %s\n", strings.Join(s.Tags, ", "))
	}
	for _, n := range s.Notes {
		fmt.Fprintf(w, "  %s, %s: %s\n", n.At.UTC().Format("2006-01-02 15:04"), printable(n.By), indented(printable(n.Text)))
	}
}
