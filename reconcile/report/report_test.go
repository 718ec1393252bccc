package report

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/assayd/assayd/reconcile/summary"
)

var noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

func interval(value, low, high float64, n int) *summary.Interval {
	return &summary.Interval{Value: value, Low: low, High: high, N: n}
}

// agent is one with three trials at two tasks, and a curve in three points.
func agent(name, task string) summary.AgentReport {
	a := summary.AgentReport{Agent: name, Summary: summary.Summary{
		Total: 4, Counts: summary.Counts{Resolved: 1, Unresolved: 2, InfraError: 1},
		ResolvedRate: interval(1./3, 0.06, 0.79, 3), PassRate: interval(0.6, 0.5, 0.7, 2),
	}}
	for i := range 6 {
		a.Summary.ScoreByTime = append(a.Summary.ScoreByTime, summary.TimePoint{Fraction: float64(i+1) / 6, ElapsedS: float64(i+1) * 600, PassRate: new(float64(i) / 10)})
	}
	a.Summary.Usage.CostUSD = 12.5
	for i := range 3 {
		v := float64(i) * 0.3
		a.Curve = append(a.Curve, summary.CurvePoint{ElapsedS: float64(i) * 60, PassRate: interval(v, v, v+0.1, 2)})
	}
	rate := 0.6
	a.Tasks = []summary.TaskReport{{Task: task, Repo: name, Counts: summary.Counts{Resolved: 1, Unresolved: 2, InfraError: 1}, PassRate: &rate}}
	return a
}

func run(agents ...summary.AgentReport) summary.Report {
	r := summary.Report{Run: "run.nightly", Execution: 2, Agents: agents}
	if len(agents) > 0 {
		r.Summary = agents[0].Summary
	}
	return r
}

func write(t *testing.T, runs []summary.Report, comparisons ...summary.Comparison) string {
	t.Helper()
	var b strings.Builder
	if err := Write(&b, runs, comparisons, noon); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// wellFormed reads a page, which is XML as well, so that nothing in it can end early. It
// returns the names of elements, and all text.
func wellFormed(t *testing.T, page string) (elements map[string]int, text string) {
	t.Helper()
	elements = map[string]int{}
	d := xml.NewDecoder(strings.NewReader(page))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return elements, text
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, page)
		}
		switch x := token.(type) {
		case xml.StartElement:
			elements[x.Name.Local]++
		case xml.CharData:
			text += string(x)
		}
	}
}

func TestAPageHasTheNumbers(t *testing.T) {
	_, text := wellFormed(t, write(t, []summary.Report{run(agent("x", "b.one"), agent("y", "b.one"))}))
	text = strings.Join(strings.Fields(text), " ")
	for _, want := range []string{
		"run.nightly e2", "1 of 3", "33 %", "6–79 %", "0.60", "0.50–0.70", "best pass rate so far", "1/6 10m", "6/6 1h", "$12.50",
		"b.one", "1 of 3 resolved, infra_error", "2026-03-04 12:00 UTC",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not say %q:\n%s", want, text)
		}
	}
}

// Of hundreds of attempts a page shows the first numbers, and then powers of two.
func TestManyAttemptsAreFewColumns(t *testing.T) {
	a := agent("x", "b.one")
	for k := 1; k <= 300; k++ {
		a.PassAtK = append(a.PassAtK, summary.OfK{K: k, Interval: *interval(0.5, 0.4, 0.6, 300)})
		a.PassHatK = append(a.PassHatK, summary.OfK{K: k, Interval: *interval(0.5, 0.4, 0.6, 300)})
	}
	page := write(t, []summary.Report{run(a)})
	if n := strings.Count(page, "<th>k = "); n != 15 || !strings.Contains(page, "k = 10<") || !strings.Contains(page, "k = 256<") || strings.Contains(page, "k = 300<") {
		t.Errorf("there are %d columns:\n%s", n, page)
	}
}

// Names come from specs, archives and repositories of strangers.
func TestNoNameIsMarkup(t *testing.T) {
	const hostile = `</title></style></table><script>alert(1)</script><img src="http://x/" onerror='y'> {{.}} ]]>`
	one := run(agent(hostile, hostile), agent(`"'`, hostile))
	plain := run(agent("a", "t"), agent("b", "t"))
	compare := func(name string) summary.Comparison {
		side := summary.Side{Run: name, Execution: 1, Agent: name}
		return summary.Comparison{
			A: side, B: side, OnlyA: []string{name}, OnlyB: []string{name}, Changed: []string{name},
			Resolved: &summary.Paired{A: 0.1, B: 0.2}, Tasks: []summary.PairedTask{{Task: name}},
		}
	}
	hostilePage, plainPage := write(t, []summary.Report{one}, compare(hostile)), write(t, []summary.Report{plain}, compare("t"))
	got, text := wellFormed(t, hostilePage)
	want, _ := wellFormed(t, plainPage)
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("a name has made elements: %v, without it %v", got, want)
	}
	if !strings.Contains(text, hostile) {
		t.Error("the name is not shown as it is")
	}
}

func TestAPageNeedsNothingElse(t *testing.T) {
	page := write(t, []summary.Report{run(agent("x", "t"))})
	elements, _ := wellFormed(t, page)
	for _, name := range []string{"script", "link", "img", "iframe", "object", "a", "base"} {
		if elements[name] > 0 {
			t.Errorf("the page has a %s", name)
		}
	}
	for _, text := range []string{"http:", "https:", "url(", "@import", " src=", " href="} {
		if strings.Contains(page, text) {
			t.Errorf("the page refers to something: %s", text)
		}
	}
	for _, text := range []string{"default-src &#39;none&#39;", "prefers-color-scheme: dark", "<svg "} {
		if !strings.Contains(page, text) && !strings.Contains(page, strings.ReplaceAll(text, "&#39;", "'")) {
			t.Errorf("the page lacks %s", text)
		}
	}
}

func TestPagesAboutLittle(t *testing.T) {
	lost := summary.AgentReport{Agent: "x", Summary: summary.Summary{Total: 1, Counts: summary.Counts{InfraError: 1}}}
	for name, r := range map[string]summary.Report{"no trial": run(), "none that counts": run(lost)} {
		if elements, text := wellFormed(t, write(t, []summary.Report{r}, summary.Comparison{})); elements["polyline"] > 0 || !strings.Contains(text, r.Run) {
			t.Errorf("%s: %v", name, elements)
		}
	}
}

func TestScoresAreShownOnOneScale(t *testing.T) {
	rescale := func(a summary.AgentReport) summary.AgentReport {
		a.Summary.Score, a.Summary.Score100 = interval(7, 6, 8, 2), interval(70, 60, 80, 2)
		for i := range a.Curve {
			a.Curve[i].Score, a.Curve[i].Score100 = interval(7, 6, 8, 2), interval(70, 60, 80, 2)
		}
		return a
	}
	both := run(rescale(agent("x", "t")))
	if all := charts(both); len(all) != 2 || all[1].Title != "best score so far, 0–100" {
		t.Errorf("%+v", all)
	}
	both.Summary.Score100 = nil
	both.Agents[0].Summary.Score100 = nil
	for i := range both.Agents[0].Curve {
		both.Agents[0].Curve[i].Score100 = nil
	}
	if all := charts(both); len(all) != 2 || all[1].Title != "best score so far" {
		t.Errorf("%+v", all)
	}
	c := summary.Comparison{Resolved: &summary.Paired{SignP: 0.1, WilcoxonP: 0.2}, Score: &summary.Paired{}, Score100: &summary.Paired{WilcoxonP: 0.3}}
	lines := Measures(c)
	if len(lines) != 2 || lines[0].P != 0.1 || lines[1].Name != "score 0–100" || lines[1].P != 0.3 {
		t.Errorf("%+v", lines)
	}
}

func TestStatusesOfATask(t *testing.T) {
	for _, tc := range []struct {
		counts      summary.Counts
		text, class string
	}{
		{summary.Counts{Resolved: 1}, "resolved", "good"},
		{summary.Counts{AgentError: 1}, "agent_error", "bad"},
		{summary.Counts{InfraError: 2}, "2 infra_error", "out"},
		{summary.Counts{Resolved: 2, Unresolved: 1, AgentError: 1, Cancelled: 1}, "2 of 4 resolved, agent_error, cancelled", ""},
		{summary.Counts{}, "", "out"},
	} {
		if text, class := statuses(tc.counts), verdict(tc.counts); text != tc.text || class != tc.class {
			t.Errorf("%+v: %q, %q", tc.counts, text, class)
		}
	}
}

func TestNumbersForPeople(t *testing.T) {
	for s, want := range map[float64]string{0: "0s", 0.25: "300ms", 59: "59s", 600: "10m", 5400: "1h30m", 7200: "2h", 43201: "12h0m1s"} {
		if got := Seconds(s); got != want {
			t.Errorf("%v s: %q, want %q", s, got, want)
		}
	}
	for v, want := range map[float64]string{0: "0.00", 0.5: "0.50", -0.0083: "-0.008", 1234567: "1.23e+06", 0.0000123: "1.23e-05"} {
		if got := number(v); got != want {
			t.Errorf("%v: %q, want %q", v, got, want)
		}
	}
	for p, want := range map[float64]string{0.0004: "< 0.001", 0.03906: "0.039", 1: "1.000"} {
		if got := PValue(p); got != want {
			t.Errorf("p %v: %q, want %q", p, got, want)
		}
	}
	for got, want := range map[string]string{
		betweenSigned(summary.Interval{Low: -0.1, High: 0.25, N: 9}): "-0.10 to +0.25",
		betweenSigned(summary.Interval{N: 1}):                        "",
		between(interval(1, 1, 1, 1)):                                "",
		betweenRates(interval(1, 0.2, 1, 1)):                         "20–100 %",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestChartsStayInTheirFrame, whatever was scored, and have few ticks in order.
func TestChartsStayInTheirFrame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.Float64Range(-1e9, 1e9)
		var a summary.AgentReport
		at := 0.0
		for range rapid.IntRange(1, 5).Draw(t, "points") {
			v, spread := value.Draw(t, "value"), rapid.Float64Range(0, 1e6).Draw(t, "spread")
			a.Curve = append(a.Curve, summary.CurvePoint{ElapsedS: at, Score: interval(v, v-spread, v+spread, 3)})
			at += rapid.Float64Range(0.5, 1e6).Draw(t, "later")
		}
		all := charts(run(a))
		if len(a.Curve) > 1 && len(all) != 1 {
			t.Fatalf("%d charts", len(all))
		}
		for _, c := range all {
			for _, p := range strings.Fields(c.Curves[0].Line + " " + c.Curves[0].Band) {
				var x, y float64
				if _, err := fmt.Sscanf(p, "%f,%f", &x, &y); err != nil || x < left-0.1 || x > width-right+0.1 || y < top-0.1 || y > height-below+0.1 {
					t.Fatalf("a point at %s, %v", p, err)
				}
			}
			for _, ticks := range [][]tick{c.X, c.Y} {
				if len(ticks) < 2 || len(ticks) > 12 {
					t.Fatalf("%d ticks", len(ticks))
				}
				seen := map[string]bool{}
				for _, k := range ticks {
					if math.IsNaN(k.At) || seen[k.Label] {
						t.Fatalf("ticks %+v", ticks)
					}
					seen[k.Label] = true
				}
			}
		}
	})
}
