package reference

import (
	"slices"
	"strings"
	"testing"

	"github.com/assayd/assayd/runtime/judge/parser"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/task"
)

func ok(rate float64) round.Report {
	return round.Report{Status: round.StatusOK, Valid: true, PassRate: rate}
}

func TestReferenceRuns(t *testing.T) {
	test := func(name string, status parser.Status) parser.Test { return parser.Test{Name: name, Status: status} }
	long := strings.Repeat("x", maxBytes)
	for _, tt := range []struct {
		name     string
		change   func(*round.Report)
		want     string
		unusable bool
	}{
		{"a solution that passed all", func(*round.Report) {}, "a b", false},
		{"skipped tests are not expected", func(r *round.Report) { r.Tests = append(r.Tests, test("s", parser.Skipped)) }, "a b", false},
		{"not all passed", func(r *round.Report) { r.PassRate = 0.5 }, "", false},
		{"out of time", func(r *round.Report) { r.Status = round.StatusTimeout }, "", false},
		{"a cut list", func(r *round.Report) { r.TotalTests = 3 }, "", false},
		{"names without end", func(r *round.Report) { r.Tests[0].Name = long }, "", false},
		{"no tests", func(r *round.Report) { r.Tests, r.TotalTests = nil, 0 }, "", false},
		{"no command", func(r *round.Report) { r.NotRun, r.Valid, r.Problem = true, false, "not found" }, "", true},
	} {
		r := ok(1)
		r.Tests, r.TotalTests = []parser.Test{test("a", parser.Passed), test("b", parser.Passed)}, 2
		tt.change(&r)
		known := Of(r)
		if got := strings.Join(known.Tests, " "); got != tt.want || known.Unusable != tt.unusable || (known.Problem == "") != (tt.want != "") {
			t.Errorf("%s: %+v", tt.name, known)
		}
	}
	xfail := ok(1)
	xfail.Expected = []string{"a"}
	if known := Of(xfail); !known.Passed || !slices.Equal(known.Expected, xfail.Expected) {
		t.Errorf("outcomes are not kept: %+v", known)
	}
	var of task.Task
	of.Judge.Parser = "pytest"
	declared, code := of, of
	declared.Judge.Expect, code.Judge.Parser = []string{"a"}, "reward"
	if !Wants(of) || Wants(declared) || Wants(code) {
		t.Error("a reference run is for tasks that do not say which tests there are, and parsers that name them")
	}
}

func TestWhatAnUntouchedTreeShows(t *testing.T) {
	of := task.Task{FailToPass: []string{"t1"}}
	passing := parser.Test{Name: "t1", Status: parser.Passed}
	for name, c := range map[string]struct {
		report round.Report
		want   Sanity
	}{
		"a judge that failed":       {round.Report{Status: round.StatusError, Problem: "why"}, Sanity{Trouble: "the tests were not run on the untouched tree: why"}},
		"a test that passes before": {round.Report{Status: round.StatusOK, Valid: true, TotalTests: 1, Tests: []parser.Test{passing}}, Sanity{Offence: "t1"}},
	} {
		got := SanityOf(of, c.report)
		if got.Trouble != c.want.Trouble || (got.Offence == "") != (c.want.Offence == "") || !strings.Contains(got.Offence, c.want.Offence) || got.NotRun != "" {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
