package cli

import (
	"fmt"
	"io"
	"math"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/google/renameio/v2"
	"github.com/spf13/cobra"

	"github.com/assayd/assayd/reconcile/report"
	"github.com/assayd/assayd/reconcile/summary"
)

func (e *env) numbers() *cobra.Command {
	var page string
	cmd := &cobra.Command{
		Use: "report RUN…", Short: "Show what runs have come to, in numbers", Args: some("runs, as run.nightly, or run.nightly.e2 for an execution of it"),
		Long: `report shows what the last execution of each run has come to, or the named one: rates and scores with their
95 % intervals, by agent and by time. infra_error, setup_error, sanity_fail and cancelled are shown, and are in no rate.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, done, err := e.connect(cmd.Context(), true)
			if err != nil {
				return err
			}
			defer done()
			var reports []summary.Report
			for _, name := range args {
				r, err := c.Report(cmd.Context(), name)
				if err != nil {
					return err
				}
				reports = append(reports, r)
			}
			if page != "" {
				return writePage(page, reports, nil)
			}
			if e.json {
				return e.printJSON(map[string]any{"runs": reports})
			}
			return showNumbers(e.out, reports)
		},
	}
	cmd.Flags().StringVar(&page, "html", "", "write it to this file instead, as one page with the curves")
	return cmd
}

// writePage writes a report whole or not at all.
func writePage(path string, reports []summary.Report, comparisons []summary.Comparison) error {
	var b strings.Builder
	if err := report.Write(&b, reports, comparisons, time.Now()); err != nil {
		return err
	}
	if err := renameio.WriteFile(path, []byte(b.String()), 0o644); err != nil {
		return fmt.Errorf("write report %s: %w", path, err)
	}
	return nil
}

func showNumbers(w io.Writer, reports []summary.Report) error {
	for i, r := range reports {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "%s e%d: %s", r.Run, r.Execution, counted(r.Summary.Total, "trial"))
		if r.Open > 0 {
			fmt.Fprintf(w, ", %d more without a verdict so far", r.Open)
		}
		if !r.AsOf.IsZero() {
			fmt.Fprintf(w, ", as of %s", r.AsOf.Local().Format(time.TimeOnly))
		}
		fmt.Fprintln(w)
		for _, show := range []func(io.Writer, summary.Report) error{showRates, showStatuses, showKs, showTimes} {
			if err := show(w, r); err != nil {
				return err
			}
		}
	}
	return nil
}

func showRates(w io.Writer, r summary.Report) error {
	t := table(w, "AGENT\tRESOLVED\tRATE\tINTERVAL\tPASS RATE\tINTERVAL\tSCORE\tINTERVAL\tCOST\tAGENT TIME\t")
	for _, a := range r.Agents {
		s := a.Summary
		scores := s.Score
		if s.Score100 != nil {
			scores = s.Score100
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t\n", printable(a.Agent), resolvedOf(s),
			percentOf(s.ResolvedRate), percentsOf(s.ResolvedRate), valueOf(s.PassRate), rangeOf(s.PassRate), valueOf(scores), rangeOf(scores),
			costOf(s.Usage.CostUSD), time.Duration(s.AgentDurationS*float64(time.Second)).Round(time.Second))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, a := range r.Agents {
		if i := a.Summary.ResolvedByTask; i != nil {
			of := counted(i.N, "task")
			if i.Clusters > 0 {
				of += fmt.Sprintf(" of %d repositories", i.Clusters)
			}
			fmt.Fprintf(w, "%s: %s resolved by task, interval %s, of %s; the rate above takes trials as independent\n",
				printable(a.Agent), percentOf(i), percentsOf(i), of)
		}
	}
	return nil
}

func showStatuses(w io.Writer, r summary.Report) error {
	fmt.Fprintln(w)
	t := table(w, "AGENT\tTRIALS\tRESOLVED\tUNRESOLVED\tAGENT ERROR\tTEST ERROR\tNOT COUNTED:\tSETUP\tSANITY\tINFRA\tCANCELLED\t")
	for _, a := range r.Agents {
		c := a.Summary.Counts
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%d\t%d\t\t%d\t%d\t%d\t%d\t\n", printable(a.Agent), a.Summary.Total,
			c.Resolved, c.Unresolved, c.AgentError, c.TestError, c.SetupError, c.SanityFail, c.InfraError, c.Cancelled)
	}
	err := t.Flush()
	if n := r.Summary.Stopped; n > 0 && err == nil {
		_, err = fmt.Fprintf(w, "stopped by a user before the time was over, judged and counted: %s\n", counted(n, "trial"))
	}
	return err
}

// showKs shows what several attempts are worth.
func showKs(w io.Writer, r summary.Report) error {
	for _, a := range r.Agents {
		var at, hat []string
		for _, k := range summary.Some(a.PassAtK) {
			at = append(at, fmt.Sprintf("pass@%d %.0f %%", k.K, 100*k.Value))
		}
		for _, k := range summary.Some(a.PassHatK) {
			hat = append(hat, fmt.Sprintf("pass^%d %.0f %%", k.K, 100*k.Value))
		}
		if len(at) > 0 {
			fmt.Fprintf(w, "\n%s: %s\n%s: %s\n", printable(a.Agent), strings.Join(at, ", "), printable(a.Agent), strings.Join(hat, ", "))
		}
	}
	return nil
}

func showTimes(w io.Writer, r summary.Report) error {
	times := r.Times()
	if len(times) == 0 {
		return nil
	}
	head := "BEST SO FAR AFTER\t"
	for i, p := range times {
		head += fmt.Sprintf("%d/6 %s\t", i+1, (time.Duration(p.ElapsedS*1000) * time.Millisecond).Round(time.Second))
	}
	fmt.Fprintln(w)
	t := table(w, head)
	for _, a := range r.Agents {
		for _, line := range []struct {
			name string
			of   func(summary.TimePoint) *float64
		}{
			{"pass rate", func(p summary.TimePoint) *float64 { return p.PassRate }},
			{"score 0–100", func(p summary.TimePoint) *float64 { return p.Score100 }},
			{"score", func(p summary.TimePoint) *float64 { return p.Score }},
		} {
			if line.name == "score" && a.Summary.Score100 != nil {
				continue
			}
			values, there := "", false
			for _, p := range a.Summary.ScoreByTime {
				v := line.of(p)
				there = there || v != nil
				values += pointer(v) + "\t"
			}
			if there {
				fmt.Fprintf(t, "%s, %s\t%s\n", printable(a.Agent), line.name, values)
			}
		}
	}
	return t.Flush()
}

// table begins one with that head.
func table(w io.Writer, head string) *tabwriter.Writer {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, head)
	return t
}

func resolvedOf(s summary.Summary) string {
	if s.ResolvedRate == nil {
		return "-"
	}
	n := float64(s.ResolvedRate.N)
	return fmt.Sprintf("%.0f of %.0f", n*s.ResolvedRate.Value, n) // controls are in no rate, and in the counts
}

func percentOf(i *summary.Interval) string {
	if i == nil {
		return "-"
	}
	return fmt.Sprintf("%.0f %%", 100*i.Value)
}

func percentsOf(i *summary.Interval) string {
	if i == nil {
		return "-"
	}
	return fmt.Sprintf("%.0f–%.0f %%", 100*i.Low, 100*i.High)
}

func valueOf(i *summary.Interval) string {
	if i == nil {
		return "-"
	}
	return decimal(i.Value)
}

// rangeOf is an interval over tasks, of which one alone tells nothing.
func rangeOf(i *summary.Interval) string {
	if i == nil || i.N < 2 {
		return "-"
	}
	return decimal(i.Low) + "–" + decimal(i.High)
}

func pointer(v *float64) string {
	if v == nil {
		return "-"
	}
	return decimal(*v)
}

// decimal has two places, unless a score is too large or too small for them.
func decimal(v float64) string {
	if size := math.Abs(v); size >= 1e9 || size > 0 && size < 1e-3 {
		return fmt.Sprintf("%.3g", v)
	}
	return fmt.Sprintf("%.2f", v)
}

func costOf(usd float64) string {
	if usd == 0 {
		return "-"
	}
	return fmt.Sprintf("$%.2f", usd)
}
