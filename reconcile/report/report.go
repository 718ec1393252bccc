package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strings"
	"time"

	"github.com/assayd/assayd/reconcile/summary"
)

//go:embed report.html
var page string

// Parts are templates that pages about runs share with reports; they need Funcs.
//
//go:embed parts.html
var Parts string

// Funcs are the functions of Parts.
func Funcs() template.FuncMap {
	return template.FuncMap{
		"number": number, "signed": signed, "pvalue": PValue, "rate": rate, "value": value, "cost": Cost, "seconds": Seconds, "percent": percent,
		"between": between, "betweenRates": betweenRates, "betweenSigned": betweenSigned,
		"charts": charts, "whisker": whisker, "difference": difference, "colour": colour, "rows": rows, "tables": timeTables,
		"alike": alike, "clusters": clusters, "scale": scale, "scored": scored, "ks": ks, "someKs": summary.Some, "measures": Measures,
		"statuses": statuses, "verdict": verdict, "inc": func(i int) int { return i + 1 },
	}
}

// Write writes a page about runs, and about how pairs of them compare.
func Write(w io.Writer, runs []summary.Report, comparisons []summary.Comparison, written time.Time) error {
	t, err := template.New("report").Funcs(Funcs()).Funcs(template.FuncMap{
		"name": runName, "side": sideName, "list": func(s []string) string { return strings.Join(s, ", ") },
	}).Parse(Parts)
	if err == nil {
		t, err = t.Parse(page)
	}
	if err != nil {
		return fmt.Errorf("read the template of reports: %w", err)
	}
	data := struct {
		Title       string
		Runs        []summary.Report
		Comparisons []summary.Comparison
		Written     string
	}{title(runs), runs, comparisons, written.UTC().Format("2006-01-02 15:04 UTC")}
	if err := t.Execute(w, data); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}

func title(runs []summary.Report) string {
	var names []string
	for _, r := range runs {
		names = append(names, runName(r))
	}
	return strings.Join(names, ", ")
}

func runName(r summary.Report) string { return fmt.Sprintf("%s e%d", r.Run, r.Execution) }

func sideName(s summary.Side) string { return fmt.Sprintf("%s e%d %s", s.Run, s.Execution, s.Agent) }

// Measure is one line of a comparison.
type Measure struct {
	Name string
	*summary.Paired
	P    float64 // of the test that suits it
	Test string
}

// Measures are the lines of a comparison that there is something to say about. Raw scores
// are one where tasks do not rescale them.
func Measures(c summary.Comparison) (lines []Measure) {
	for _, m := range []Measure{
		{Name: "resolved", Paired: c.Resolved},
		{Name: "pass rate", Paired: c.PassRate},
		{Name: "score 0–100", Paired: c.Score100},
		{Name: "score", Paired: c.Score},
	} {
		if m.Paired == nil || m.Paired == c.Score && c.Score100 != nil {
			continue
		}
		m.P, m.Test = m.WilcoxonP, "Wilcoxon"
		if m.Paired == c.Resolved {
			m.P, m.Test = m.SignP, "sign"
		}
		lines = append(lines, m)
	}
	return lines
}
