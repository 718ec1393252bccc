package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/assayd/assayd/reconcile/report"
	"github.com/assayd/assayd/reconcile/summary"
)

func (e *env) compare() *cobra.Command {
	var agents, page string
	cmd := &cobra.Command{
		Use: "compare RUN RUN", Short: "Compare two runs, or two executions or agents, on the same tasks",
		Long: `compare says how the second run does beside the first, paired by task. A run is named by its address, for its last
execution, or with one: run.nightly.e2. Agents of the same name are compared; with one agent each, these.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return usage{errors.New("give two runs, as run.before run.after, or two executions, as run.nightly.e1 run.nightly.e2")}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			var names []string
			if agents != "" {
				names = strings.Split(agents, ",")
			}
			if len(names) > 2 {
				return usage{errors.New("--agent names one agent, or two with a comma: of the first run and of the second")}
			}
			c, done, err := e.connect(cmd.Context(), true)
			if err != nil {
				return err
			}
			defer done()
			compared, err := c.Compare(cmd.Context(), args[0], args[1], names)
			switch {
			case err != nil:
				return err
			case page != "":
				return writePage(page, reportsOf(compared), compared.Comparisons)
			case e.json:
				return e.printJSON(compared)
			}
			return showComparisons(e.out, compared.Comparisons)
		},
	}
	cmd.Flags().StringVar(&agents, "agent", "", "compare this agent of both, or A,B: A of the first run with B of the second")
	cmd.Flags().StringVar(&page, "html", "", "write it to this file instead, as one page with the curves of both")
	return cmd
}

// reportsOf are those of both sides; of one execution, whose agents are compared, it is one.
func reportsOf(c summary.Compared) []summary.Report {
	if c.A.Run == c.B.Run && c.A.Execution == c.B.Execution {
		return []summary.Report{c.A}
	}
	return []summary.Report{c.A, c.B}
}

func showComparisons(w io.Writer, all []summary.Comparison) error {
	for i, c := range all {
		if i > 0 {
			fmt.Fprintln(w)
		}
		if err := showComparison(w, c); err != nil {
			return err
		}
	}
	return nil
}

func showComparison(w io.Writer, c summary.Comparison) error {
	fmt.Fprintf(w, "A: %s\nB: %s\n%s in both\n", sideOf(c.A), sideOf(c.B), counted(len(c.Tasks), "task"))
	for _, l := range []struct {
		what  string
		tasks []string
	}{{"in A alone", c.OnlyA}, {"in B alone", c.OnlyB}, {"not the same task but by name", c.Changed}} {
		if len(l.tasks) > 0 {
			fmt.Fprintf(w, "%d %s: %s\n", len(l.tasks), l.what, printable(strings.Join(l.tasks, ", ")))
		}
	}
	measures := report.Measures(c)
	if len(measures) == 0 {
		return nil
	}
	fmt.Fprintln(w)
	t := table(w, "\tA\tB\tB - A\tINTERVAL\tBETTER\tWORSE\tEQUAL\tP\tTEST\t")
	for _, m := range measures {
		between := "-"
		if m.Difference.N > 1 {
			between = fmt.Sprintf("%+.2f to %+.2f", m.Difference.Low, m.Difference.High)
		}
		fmt.Fprintf(t, "%s\t%.2f\t%.2f\t%+.2f\t%s\t%d\t%d\t%d\t%s\t%s\t\n",
			m.Name, m.A, m.B, m.Difference.Value, between, m.Won, m.Lost, m.Tied, report.PValue(m.P), m.Test)
	}
	return t.Flush()
}

// sideOf names a side with all its trials, those that do not count among them.
func sideOf(s summary.Side) string {
	text := fmt.Sprintf("%s e%d, %s: %d of %s resolved", s.Run, s.Execution, printable(s.Agent), s.Resolved, counted(s.Total, "trial"))
	var left []string
	for _, x := range []struct {
		n    int
		name string
	}{{s.SetupError, "setup_error"}, {s.SanityFail, "sanity_fail"}, {s.InfraError, "infra_error"}, {s.Cancelled, "cancelled"}} {
		if x.n > 0 {
			left = append(left, fmt.Sprintf("%d %s", x.n, x.name))
		}
	}
	if len(left) > 0 {
		text += "; not counted: " + strings.Join(left, ", ")
	}
	return text
}
