package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
	"unicode"

	"github.com/dustin/go-humanize/english"

	"github.com/assayd/assayd/daemon/api"
	"github.com/assayd/assayd/runtime/judge/round"
)

// showOutput prints what the judge command wrote.
func (e *env) showOutput(ctx context.Context, c *api.Client, out api.Evaluated) error {
	if err := e.warn(out.Diagnostics); err != nil {
		return err
	}
	stream, err := c.Output(ctx, out.Session, out.Round)
	if err != nil {
		return err
	}
	_, err = io.Copy(e.out, stream)
	return errors.Join(err, stream.Close())
}

func (e *env) showEvaluated(out api.Evaluated) error {
	if e.json {
		return e.printJSON(out)
	}
	if err := e.warn(out.Diagnostics); err != nil {
		return err
	}
	columns, heads := []*round.Report{&out.Report}, []string{"now"}
	t := tabwriter.NewWriter(e.out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "task\t%s\n", out.Task)
	fmt.Fprintf(t, "archive\tsha256 %s, %d bytes, as cleaned\n", out.Provenance.Archive.SHA256, out.Provenance.Archive.Bytes)
	if out.Dropped > 0 {
		fmt.Fprintf(t, "left out:\t%s (not below submit.paths, excluded, or the judge's own)\n", english.Plural(out.Dropped, "entry", "entries"))
	}
	if out.Empty {
		fmt.Fprintln(t, "\tnothing of the archive may be submitted")
	}
	if out.Of != "" {
		fmt.Fprintf(t, "of\t%s\n", out.Of)
		columns, heads = append(columns, out.Before), append(heads, "then")
	}
	if out.Private != nil {
		columns, heads = append(columns, out.Private), append(heads, "private")
	}
	if len(columns) > 1 {
		fmt.Fprintf(t, "\t%s\n", strings.Join(heads, "\t"))
	}
	showReports(t, columns)
	if err := t.Flush(); err != nil {
		return err
	}
	showTests(e.out, out.Round, &out.Report)
	showTests(e.out, "private", out.Private)
	return nil
}

// showReports prints one row for each number, one column for each report; nil is one that
// there is not yet.
func showReports(w io.Writer, reports []*round.Report) {
	number := func(x *float64) string {
		if x == nil {
			return "-"
		}
		return shown(*x)
	}
	type row struct {
		name string
		of   func(*round.Report) string
	}
	rows := []row{
		{"status", func(r *round.Report) string { return string(r.Status) }},
		{"passed", func(r *round.Report) string { return fmt.Sprintf("%d/%d", r.Passed, r.TotalTests) }},
		{"failed", func(r *round.Report) string { return fmt.Sprint(r.Failed) }},
		{"errors", func(r *round.Report) string { return fmt.Sprint(r.Errors) }},
		{"pass rate", func(r *round.Report) string { return fmt.Sprintf("%.4g", r.PassRate) }},
		{"score", func(r *round.Report) string { return number(r.Score) }},
		{"score 0-100", func(r *round.Report) string { return number(r.Score100) }},
		{"valid", func(r *round.Report) string { return fmt.Sprint(r.Valid) }},
		{"runtime", func(r *round.Report) string { return fmt.Sprintf("%.1f s", float64(r.JudgeMS)/1000) }},
		{"summary", func(r *round.Report) string { return printable(r.Summary) }},
	}
	metrics := map[string]bool{}
	for _, r := range reports {
		if r != nil {
			for name := range r.Metrics {
				metrics[name] = true
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(metrics)) {
		rows = append(rows, row{"metric " + printable(name), func(r *round.Report) string {
			if value, ok := r.Metrics[name]; ok {
				return shown(value)
			}
			return "-"
		}})
	}
	for _, row := range rows {
		fmt.Fprint(w, row.name)
		for _, r := range reports {
			value := "-"
			if r != nil {
				value = row.of(r)
			}
			fmt.Fprint(w, "\t", value)
		}
		fmt.Fprintln(w)
	}
}

// shown is a number for people: of a fraction, six digits are enough.
func shown(x float64) string {
	if x == math.Trunc(x) && math.Abs(x) < 1e15 {
		return fmt.Sprintf("%.0f", x)
	}
	return fmt.Sprintf("%.6g", x)
}

// printable is a line of somebody else's text, without what a terminal would act on.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return -1
		}
		return r
	}, clipLine(text))
}
