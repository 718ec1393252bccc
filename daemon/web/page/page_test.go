package page

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/daemon/samples"
	"github.com/assayd/assayd/reconcile/budget"
	"github.com/assayd/assayd/reconcile/note"
	"github.com/assayd/assayd/reconcile/plan"
	"github.com/assayd/assayd/reconcile/query"
	"github.com/assayd/assayd/reconcile/query/archive"
	"github.com/assayd/assayd/reconcile/query/trialview"
	"github.com/assayd/assayd/reconcile/summary"
	"github.com/assayd/assayd/runtime/gateway/transcript"
	"github.com/assayd/assayd/runtime/judge/parser"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/trial/record"
)

// hostile is a text that tries to be an element, a link, a sequence of a terminal, and another order of letters.
const hostile = "half a sequence \x1b[\" \x1b[<b> <script>alert(1)</script><img src=x onerror=alert(1)> javascript:alert(1) \"'&amp; \x1b[31mred\x1b]0;title\x07 a\u202eb\u200b\x00\x9b31m"

var rate = 0.5

// every are all pages with hostile text wherever there is text.
func every() map[string]View {
	f := Frame{Version: hostile, Role: "viewer", AsOf: time.Date(2030, 5, 1, 12, 0, 0, 0, time.UTC)}
	at := &url.URL{Path: "/runs/x", RawQuery: url.Values{"stage": {hostile}}.Encode()}
	run := query.RunInfo{Address: "run." + hostile, File: hostile, State: "running", Execution: 2, Wanted: 4, Note: hostile, Results: hostile, Elsewhere: hostile, Cells: map[string]int{"resolved": 1, hostile: 1, "infra_error": 1}}
	cell := query.CellInfo{Trial: hostile, Task: hostile, Agent: hostile, Model: hostile, Attempt: 1, Try: 2, State: "unresolved", Reason: hostile, Round: hostile, PassRate: &rate, Flags: []string{hostile}}
	report := &round.Report{Status: "ok", PassRate: 0.5, Passed: 1, Failed: 1, Summary: hostile, Problem: hostile, Isolation: hostile, Metrics: map[string]float64{hostile: 1}}
	rounds := []trialview.RoundInfo{
		{N: 1, Round: trialview.Round{Round: "agent-1", State: "done", ElapsedS: 60, Report: report}, Kind: round.KindAgent},
		{N: 2, Round: trialview.Round{Round: hostile, State: "done", ElapsedS: 120, Report: report}, Kind: round.KindAuto},
	}
	test := trialview.TestInfo{N: 1, Test: parser.Test{Name: hostile, Status: parser.Failed, Message: hostile, Detail: hostile, Output: hostile}}
	trial := trialview.TrialInfo{ID: hostile, Run: "run." + hostile, Execution: 1, Task: hostile, Agent: hostile, Model: hostile, Status: "unresolved", Reason: hostile, Detail: hostile, Best: "agent-1", Flags: []string{hostile}}
	diagnostic := config.Diagnostic{Severity: config.Error, Summary: hostile, Detail: hostile, File: hostile, Line: 3, Column: 4, Snippet: "\t" + hostile}
	numbers := summary.Report{Run: "run." + hostile, Execution: 2, Summary: summary.Summary{Total: 1}, Agents: []summary.AgentReport{{
		Agent: hostile, Summary: summary.Summary{Total: 1, ResolvedRate: &summary.Interval{Value: 0.5, Low: 0.1, High: 0.9, N: 2}}, Tasks: []summary.TaskReport{{Task: hostile, Repo: hostile}},
		Curve: []summary.CurvePoint{{ElapsedS: 1, PassRate: &summary.Interval{Value: 0.5, N: 2}}, {ElapsedS: 60, PassRate: &summary.Interval{Value: 0.6, N: 2}}},
	}}}
	side := summary.Side{Run: "run." + hostile, Execution: 1, Agent: hostile}
	pair := summary.Comparison{A: side, B: side, OnlyA: []string{hostile}, Changed: []string{hostile}, Resolved: &summary.Paired{}, Tasks: []summary.PairedTask{{Task: hostile, A: summary.TaskReport{PassRate: &rate}, B: summary.TaskReport{PassRate: &rate}}}}
	mining := query.MiningInfo{Address: "mining." + hostile, File: hostile, State: "running", Note: hostile, Dir: hostile, Results: hostile}
	pull := query.PullInfo{Repo: hostile, Number: 7, Verdict: "rejected", Stage: hostile, Reason: hostile, Task: hostile}
	spec := query.SpecInfo{FileStatus: query.FileStatus{File: hostile, Status: config.Frozen}, Path: hostile, Diagnostics: config.Diagnostics{diagnostic}}
	git := &query.GitStatus{URL: hostile, Ref: hostile, Commit: hostile, Error: hostile}
	matrix := []query.MatrixCell{{Trial: hostile, Task: hostile, Agent: hostile, Attempt: 1, State: "unresolved", PassRate: &rate}, {Trial: "t2", Task: "b", Agent: hostile, Attempt: 2, State: "infra_error"}, {Trial: "t3", Task: "b", Agent: "x", Attempt: 1, State: "working"}}
	steps := trialview.StepPage{All: 100, First: 3, Next: 5, Steps: []transcript.Step{{
		N: 1, Model: hostile, Messages: []transcript.Message{{Role: hostile, Text: strings.Repeat(hostile+"\n", 60)}}, Answered: true, Error: hostile, Text: hostile, Reasoning: hostile,
		Calls: []transcript.Call{{Name: hostile, Arguments: `{"command":"` + strings.Repeat("x", 9000) + `"}`}, {Name: "b", Arguments: hostile}},
	}}}
	health := query.Health{Findings: []query.HealthFinding{{Severity: "error", Rule: hostile, What: hostile, Address: "run." + hostile, Advice: hostile}, {Severity: "warning", Rule: query.RuleSpecs, What: hostile, Address: hostile, Advice: hostile}}}
	validation := &query.Validation{Verdict: hostile}
	if err := json.Unmarshal(fmt.Appendf(nil, `{"verdict":%q,"findings":[{"check":%[1]q,"severity":%[1]q,"text":%[1]q}]}`, "<script>alert(1)</script>"), validation); err != nil {
		panic(err) // the text above is JSON
	}
	noted := note.Set{Notes: []note.Note{{Text: hostile, By: hostile}}, Tags: []string{hostile}}
	trial.About = trialview.About{Key: hostile, Generation: hostile, Images: map[string]string{hostile: hostile}, Isolation: hostile, Manifest: record.Manifest{Source: hostile}}
	run.Set, trial.Set, mining.Set, cell.Tags = noted, noted, noted, []string{hostile}
	act := NewAct(f, "cancel", hostile, hostile, "/runs/"+url.PathEscape(hostile))
	act.Problem = hostile
	return map[string]View{
		"act": act,
		"overview": NewOverview(f, query.Overview{
			Runs: []query.RunInfo{run}, Minings: []query.MiningInfo{mining}, Files: map[config.Status]int{config.OK: 2}, Diagnostics: config.Diagnostics{diagnostic}, Waits: []string{hostile}, Git: git,
		}, health, []string{hostile}),
		"run": NewRun(f, RunData{
			Run: run, Execution: 2, Executions: []query.ExecutionInfo{{Execution: 2, Trigger: hostile, StartedAt: f.AsOf.Add(-time.Hour)}, {Execution: 1}}, Counts: run.Cells, Cells: matrix,
			Report: &numbers, Trials: Trials{URL: at, Items: []query.CellInfo{cell}, Filter: query.CellFilter{Task: hostile}}, Now: f.AsOf,
		}),
		"trial": NewTrial(f, TrialData{Trial: trial, Rounds: rounds, Best: report, Failing: []trialview.TestInfo{test}}),
		"round": NewRound(f, RoundData{Trial: trial, Round: rounds[1], Tests: []trialview.TestInfo{test}, Search: hostile, Output: &trialview.OutputPage{Text: hostile + "\n" + hostile, Size: 9}}),
		"steps": NewSteps(f, trial, steps, at, 50),
		"between": NewBetween(f, trial, trialview.Between{
			A: rounds[0], B: rounds[1], Fixed: []string{hostile}, Broken: []string{hostile}, Files: []archive.FileChange{{Path: hostile, Kind: "changed", Added: 1, Diff: hostile}, {Path: hostile, Kind: "added"}}, More: 2,
		}, steps),
		"log":   NewLog(f, trial, hostile, 0, 10, 10),
		"tasks": NewTasks(f, hostile, []query.TaskInfo{{Address: hostile, Name: hostile, Base: hostile, Parser: hostile, Missing: hostile}}, "", ""),
		"benchmark": NewBenchmark(f, query.BenchmarkInfo{Address: hostile, File: hostile, Generation: hostile, Description: hostile, Imports: []string{hostile}, Problems: 1, Tasks: 1},
			[]query.TaskInfo{{ID: hostile, Address: hostile, Name: hostile, Base: hostile, Parser: hostile, Missing: hostile}}, "", ""),
		"task": NewTaskDetail(f, query.TaskDetail{
			TaskInfo: query.TaskInfo{ID: hostile, Name: hostile + "x", Address: hostile, Missing: hostile, Parser: hostile, Select: hostile, Direction: hostile}, Declared: true, Of: hostile,
			Instruction: hostile, Images: []query.TaskImage{{Role: hostile, Name: hostile, Digest: hostile}}, Command: hostile, Stages: []string{hostile}, Feedback: hostile,
			Hidden: []string{hostile}, HiddenAll: 2, NoHidden: hostile, Validated: validation,
		}, []query.CellInfo{cell}, "", ""),
		"machine": NewMachine(f, Load{
			Known: true, Gauges: []Gauge{{hostile, 1, 2, hostile}}, Engine: hostile, Store: hostile, Providers: []Provider{{Name: hostile, InLine: 1}}, Tokens: []Token{{1, hostile, 2}},
			Past: []samples.Sample{{At: f.AsOf.Add(-time.Hour), WorkCPUs: 1}, {At: f.AsOf, WorkCPUs: 2}},
		}, []query.RunInfo{run}, health),
		"specs": NewSpecs(f, []query.SpecInfo{spec}, git, "", ""),
		"compare": NewCompare(f, []string{hostile, hostile, hostile}, []summary.Pairwise{
			{Sides: []summary.Side{side, side}, Pairs: []summary.Comparison{pair}, Apart: []summary.ApartTask{{Task: hostile, On: []bool{true, false}}}, Changed: []string{hostile}},
			{Sides: []summary.Side{side, side, side}, Pairs: []summary.Comparison{pair, pair, pair}, Apart: []summary.ApartTask{{Task: hostile, On: []bool{true, false, true}}}, Changed: []string{hostile}},
		}, hostile),
		"comparesteps": NewCompareSteps(f, at, hostile, []SideSteps{{Name: hostile, Trials: []query.CellInfo{cell, cell}, Steps: steps}, {Name: hostile, Trials: []query.CellInfo{cell}}}, 25),
		"mining":       NewMining(f, mining, at, []query.PullInfo{pull}, "", ""),
		"minings":      NewMinings(f, []query.MiningInfo{mining}, "", ""),
		"files":        NewFiles(f, trial, []trialview.FileInfo{{Name: hostile, Kind: hostile, Try: 1, Round: hostile, Bytes: 1, SHA256: hostile}, {Name: hostile, Kind: trialview.FileArchive, Gone: true}}, "", ""),
		"spending": NewSpending(f, query.Spending{
			HourUSD: 2, Budgets: []budget.Period{{Period: budget.Day, LimitUSD: 5, SpentUSD: 4, LeftUSD: 1, Ends: f.AsOf}}, Hours: []query.SpendingHour{{Begin: f.AsOf, USD: 2}},
			Items: []query.SpendingLine{{Spec: "run." + hostile, Provider: hostile, Model: hostile, HourUSD: 1, DayUSD: 2}}, OtherUSD: 1,
			Trials: []query.DearTrial{{Trial: hostile, Run: "run." + hostile, Benchmark: hostile, Task: hostile, Agent: hostile, Model: hostile, State: hostile, USD: 1}},
		}),
		"activity": NewActivity(f, []query.ActivityInfo{{N: 1, Time: f.AsOf, Action: hostile, Target: "run." + hostile, By: hostile, Via: hostile, Reason: hostile}}, "", ""),
		"login":    NewLogin(f, hostile, hostile, true),
		"problem":  NewProblem(f, 404, hostile, hostile),
	}
}

// What anybody writes makes no element, no link, and no sequence of a terminal on any page, and turns no letters.
func TestHostileTextIsPlainTextOnEveryPage(t *testing.T) {
	all, err := pages()
	if err != nil {
		t.Fatal(err)
	}
	views := every()
	links, values := regexp.MustCompile(`(?i)(href|src|action)="\s*(javascript|data):`), regexp.MustCompile(`"[^"]*"`)
	elements := regexp.MustCompile(`(?i)<script>|<img|<[^>]*\son\w+\s*=`)
	for name := range all {
		v := views[name]
		if v == nil {
			t.Errorf("no view of the page %s is tried", name)
			continue
		}
		var b bytes.Buffer
		if is, err := Render(&b, name, "", v); err != nil || !is {
			t.Errorf("%s: %v, %v", name, is, err)
			continue
		}
		if found := links.FindString(b.String()) + elements.FindString(values.ReplaceAllString(b.String(), `""`)); found != "" {
			t.Errorf("%s: hostile text is %q", name, found)
		}
		if i := bytes.IndexFunc(b.Bytes(), unseen); i >= 0 {
			t.Errorf("%s: there is a character that nobody sees in %q", name, b.Bytes()[max(0, i-20):min(b.Len(), i+20)])
		}
		if strings.Contains(b.String(), "[31mred") || strings.Contains(b.String(), "title\x07") {
			t.Errorf("%s: a sequence of a terminal is shown in part", name)
		}
	}
	for name := range views {
		if all[name] == nil {
			t.Errorf("there is no page %s", name)
		}
	}
}

// Every region that a script fetches again is a part of its page that can be had alone.
func TestPartsOfAPageCanBeHadAlone(t *testing.T) {
	regions := regexp.MustCompile(`<section id="([a-z]+)" data-live`)
	for name, v := range every() {
		var whole bytes.Buffer
		if _, err := Render(&whole, name, "", v); err != nil {
			t.Fatal(err)
		}
		for _, m := range regions.FindAllStringSubmatch(whole.String(), -1) {
			var part bytes.Buffer
			if is, err := Render(&part, name, m[1], v); err != nil || !is {
				t.Errorf("%s has no part %s: %v", name, m[1], err)
			} else if !strings.Contains(whole.String(), strings.TrimSpace(part.String())) {
				t.Errorf("the part %s of %s is another one than on the page", m[1], name)
			}
		}
		if is, err := Render(&bytes.Buffer{}, name, "none", v); is || err != nil {
			t.Errorf("%s has a part none: %v", name, err)
		}
	}
}

// Ten thousand cells are a few outlines, and each place in them is that of the trial that was drawn there.
func TestAMatrixOfTenThousandCells(t *testing.T) {
	var cells []query.MatrixCell
	for i := range 10_000 {
		cells = append(cells, query.MatrixCell{
			Trial: fmt.Sprint(i), Task: fmt.Sprintf("task%03d", i/25), Agent: fmt.Sprintf("agent%d", i%25/5), Attempt: i%5 + 1,
			State: []string{"resolved", "unresolved", "infra_error", "working"}[i%4], PassRate: &rate,
		})
	}
	m := newMatrix(cells)
	if len(m.Paths) != 4 || len(m.Cells) != 0 || len(m.Rows) != matrixRows || len(m.Columns) != 5 {
		t.Errorf("%d outlines, %d links, %d rows, %d columns", len(m.Paths), len(m.Cells), len(m.Rows), len(m.Columns))
	}
	drawn := 0
	for _, p := range m.Paths {
		drawn += p.Cells
	}
	if drawn != len(cells) {
		t.Errorf("%d of %d cells are drawn", drawn, len(cells))
	}
	for _, i := range []int{0, 7, 24, 25, 9_999} {
		x := m.Columns[i%25/5].X + float64(i%5)*(cellSize+cellGap) + 3
		if got, ok := CellAt(cells, x, i/25); !ok || got != fmt.Sprint(i) {
			t.Errorf("at %g in row %d is %s, %v; want %d", x, i/25, got, ok, i)
		}
	}
	if got, ok := CellAt(cells, m.Width+5, 0); ok {
		t.Errorf("beside all columns is %s", got)
	}
	if _, ok := CellAt(cells, m.Columns[0].W+3, 0); ok {
		t.Error("between two columns is a trial")
	}
}

// packed is how many bytes a text has on its way to a browser.
func packed(t *testing.T, text []byte) int {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err := z.Write(text)
	if err := errors.Join(err, z.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Len()
}

// The page of a run has the numbers of its curves for a script, and stays small with as many as there can be. In a file
// there are pictures alone.
func TestAPageOfARunHasTheNumbersOfItsCurves(t *testing.T) {
	v := every()["run"].(*Run) //nolint:forcetypeassert // it is
	var agents []summary.AgentReport
	for i := range 16 {
		a := summary.AgentReport{Agent: fmt.Sprintf("agent-%02d", i), Summary: summary.Summary{Score100: &summary.Interval{}}} // so that raw scores are not shown
		for j := range 61 {
			at := func(most float64) *summary.Interval {
				v := most * float64((i*j*7919)%1009) / 1009
				return &summary.Interval{Value: v, Low: v * 0.9, High: v * 1.1, N: 20}
			}
			a.Curve = append(a.Curve, summary.CurvePoint{ElapsedS: 60 * float64(j), PassRate: at(1), Score: at(5000), Score100: at(100)})
		}
		agents = append(agents, a)
	}
	v.Report.Agents = agents
	show := func() string {
		var b bytes.Buffer
		if _, err := Render(&b, "run", "", v); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	whole := show()
	if size := packed(t, []byte(whole)); size > 60_000 {
		t.Errorf("it has %d bytes, packed", size)
	}
	for _, want := range []string{`id="plot" class="plot" data-own hidden`, `data-plot="{&#34;x&#34;:[0,60,120,`, "uPlot.iife.min.js", "chart.js", "<polyline"} {
		if !strings.Contains(whole, want) {
			t.Errorf("it lacks %s", want)
		}
	}
	v.Still, v.Role = &Still{}, ""
	if still := show(); strings.Contains(still, "data-plot") || strings.Contains(still, `id="plot"`) || !strings.Contains(still, "<polyline") {
		t.Error("in a file there is more than pictures of curves, or less")
	}
}

// While a long transcript is read for the first time, pages of its steps say so, and look again without a script, too.
func TestPagesSayThatATranscriptIsRead(t *testing.T) {
	reading := trialview.StepPage{Reading: true, Read: 0.4}
	rounds := trialview.Between{A: trialview.RoundInfo{}, B: trialview.RoundInfo{}}
	for name, v := range map[string]View{
		"steps": NewSteps(Frame{}, trialview.TrialInfo{ID: "t"}, reading, &url.URL{}, 50), "between": NewBetween(Frame{}, trialview.TrialInfo{ID: "t"}, rounds, reading),
	} {
		var b bytes.Buffer
		if _, err := Render(&b, name, "", v); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{`<section id="steps" data-live="slow"><p aria-busy="true"`, "40 %", `<noscript><meta http-equiv="refresh"`} {
			if !strings.Contains(b.String(), want) {
				t.Errorf("%s lacks %q", name, want)
			}
		}
	}
}

// A run that has not begun says what it will take.
func TestARunThatHasNotBegunSaysWhatItWillTake(t *testing.T) {
	w := plan.Work{Parallel: 2, Timeout: time.Hour, Shares: []plan.Share{{Task: "benchmark.edge[\"one\"]", Benchmark: "edge", Agent: "a", Cells: 3}}}
	v := NewRun(Frame{}, RunData{Run: query.RunInfo{Address: "run.r", State: "waiting", Estimate: w.Estimate(nil)}, Trials: Trials{URL: &url.URL{Path: "/runs/r"}}})
	var b bytes.Buffer
	if _, err := Render(&b, "run", "board", v); err != nil {
		t.Fatal(err)
	}
	if want := "Estimate: 3 cells, 2 at a time: up to 2h, no cost of models;"; !strings.Contains(b.String(), want) {
		t.Errorf("it lacks %q: %s", want, b.String())
	}
}

// Scripts stay small, what others wrote is as they published it, and all of it never changes under its address.
func TestStaticFiles(t *testing.T) {
	own := 0
	if err := fs.WalkDir(static, "static", func(name string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() && filepath.Ext(name) == ".js" && !strings.Contains(name, "vendor/") {
			text, err := static.ReadFile(name)
			own += packed(t, text)
			return err
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if own > 12_000 {
		t.Errorf("our scripts have %d bytes, packed", own)
	}
	sums, err := os.ReadFile("static/vendor/SHA256SUMS")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(sums)) {
		want, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		text, err := os.ReadFile(filepath.Join("static/vendor", name))
		if sum := sha256.Sum256(text); err != nil || hex.EncodeToString(sum[:]) != want {
			t.Errorf("%s is not what it was: %v", name, err)
		}
	}
	for path, want := range map[string]int{
		asset("app.css"): 200, asset("vendor/idiomorph.min.js"): 200, asset("vendor/uPlot.iife.min.js"): 200, asset("vendor/uPlot.min.css"): 200, asset("none.js"): 404, asset("vendor"): 404, asset("../render.go"): 404,
		StaticPath + "0000000000000000/app.css": 404, StaticPath: 404,
	} {
		w := httptest.NewRecorder()
		Static().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://x"+path, nil))
		if w.Code != want || want == 200 && !strings.Contains(w.Header().Get("Cache-Control"), "immutable") {
			t.Errorf("%s: %d, want %d", path, w.Code, want)
		}
	}
}
