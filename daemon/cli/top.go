package cli

import (
	"context"
	"fmt"
	"io"
	"os/signal"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile/query"
)

func (e *env) top() *cobra.Command {
	once := false
	cmd := &cobra.Command{
		Use: "top", Short: "Show what the daemon does, as it changes", Args: nothing,
		Long: `top shows the runs that work and those that changed last, mining, how much models cost, and errors of specs. On a terminal it
goes on until Ctrl-C, and shows changes as they come. Elsewhere, and with --once, it shows all once.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
			defer stop()
			c, done, err := e.connect(ctx, true)
			if err != nil {
				return err
			}
			defer done()
			follow := terminal(e.out) && !once && !e.json && e.onlyLive(c, true)
			var looks <-chan struct{}
			if follow {
				looks = c.Looks(ctx)
			}
			for {
				o, err := c.Overview(ctx)
				switch {
				case err != nil && ctx.Err() != nil:
					return nil
				case err != nil && !follow:
					return err
				case e.json:
					return e.printJSON(o)
				case err != nil: // it may come back
					fmt.Fprintln(e.err, err)
				default:
					if follow {
						steer(e.out, "\x1b[H\x1b[2J")
					}
					if err := showOverview(e.out, o, time.Now()); err != nil || !follow {
						return err
					}
				}
				if !soon(ctx, looks) {
					return nil
				}
			}
		},
	}
	cmd.Flags().BoolVar(&once, "once", false, "show it once, on a terminal, too")
	return cmd
}

// soon waits for a second, and then until there is something new to see, for ten seconds at most. It reports whether anybody
// still looks.
func soon(ctx context.Context, looks <-chan struct{}) bool {
	pause := time.NewTimer(time.Second)
	defer pause.Stop()
	select {
	case <-pause.C:
	case <-ctx.Done():
		return false
	}
	idle := time.NewTimer(10 * time.Second) // times go on where nothing changes
	defer idle.Stop()
	select {
	case _, open := <-looks:
		return open
	case <-idle.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// showOverview prints what there is to see at a glance.
func showOverview(w io.Writer, o query.Overview, now time.Time) error {
	fmt.Fprintln(w, now.Format(time.TimeOnly))
	for _, lack := range o.Waits {
		fmt.Fprintln(w, "The daemon waits for "+lack)
	}
	if len(o.Runs) == 0 {
		fmt.Fprintln(w, "No run is declared.")
	} else {
		t := table(w, "RUN\tSTATE\tCELLS\tNOW\tWAITS FOR\t")
		for _, r := range o.Runs {
			done := query.Done(r.Cells)
			name := r.Address
			if r.Execution > 0 {
				name += fmt.Sprintf(" e%d", r.Execution)
			}
			fmt.Fprintf(t, "%s\t%s\t%d/%d\t%s\t%s\t\n", name, r.State, done, max(done, r.Wanted), nowOf(r.Cells), clipLine(printable(r.Note)))
		}
		if err := t.Flush(); err != nil {
			return err
		}
	}
	if len(o.Minings) > 0 {
		fmt.Fprintln(w)
		if err := showMinings(w, o.Minings); err != nil {
			return err
		}
	}
	if s := o.Spending; s.HourUSD > 0 || len(s.Budgets) > 0 {
		fmt.Fprintf(w, "\nmodels: %s\n", s.InWords())
	}
	var files []string
	for _, s := range config.Statuses() {
		if n := o.Files[s]; n > 0 {
			files = append(files, fmt.Sprintf("%d %s", n, s))
		}
	}
	if len(files) > 0 {
		fmt.Fprintf(w, "\nspecs: %s\n", strings.Join(files, ", "))
	}
	for i, d := range o.Diagnostics {
		if i == mostWrong {
			fmt.Fprintf(w, "  %d more: assayd validate says all\n", len(o.Diagnostics)-i)
			break
		}
		fmt.Fprintf(w, "  %s: %s:%d:%d: %s\n", d.Severity, d.File, d.Line, d.Column, d.Summary)
	}
	return nil
}

// mostWrong is how many diagnostics are shown.
const mostWrong = 5

func showMinings(w io.Writer, all []query.MiningInfo) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "MINING\tSTATE\tSEEN\tTASKS\tCOST\tWAITS FOR\t")
	for _, m := range all {
		tasks := fmt.Sprint(m.Progress.Accepted)
		if m.Progress.Wanted > 0 {
			tasks += fmt.Sprintf("/%d", m.Progress.Wanted)
		}
		fmt.Fprintf(t, "%s\t%s\t%d\t%s\t%s\t%s\t\n", m.Address, m.State, m.Progress.Seen, tasks, costOf(m.Progress.CostUSD), clipLine(printable(m.Note)))
	}
	return t.Flush()
}

// nowOf is what cells without an outcome are at.
func nowOf(cells map[string]int) string {
	var parts []string
	for _, state := range append(query.CellStates(), "waiting") {
		if n := cells[state]; n > 0 && query.Open(state) {
			parts = append(parts, fmt.Sprintf("%d %s", n, state))
		}
	}
	return strings.Join(parts, ", ")
}
