package scoring

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/assayd/assayd/runtime/judge/parser"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/task"
)

// What tests of SForge's print may hold expected values: its agents are told statuses.
func TestFeedbackOfSForgesParsersHasNoMessages(t *testing.T) {
	r := &round.Report{Status: round.StatusOK, Problem: "it ended with 3: E assert 3 == 5", Tests: []parser.Test{{Name: "a", Status: parser.Failed, Message: "assert 3 == 5"}, {Name: "b", Status: parser.Passed}}}
	for name, message := range map[string]string{"pytest_v": "", "score_sum": "", "pytest": "assert 3 == 5", "structured_json": "assert 3 == 5"} {
		v := feedback(task.Task{Judge: task.Judge{Feedback: "full", Parser: name}}, round.Submission{Report: r})
		want := []TestFeedback{{Name: "a", Status: "FAILED", Message: message}, {Name: "b", Status: "PASSED"}}
		if !slices.Equal(v.Details, want) {
			t.Errorf("%s: %+v, want %+v", name, v.Details, want)
		}
		if told := strings.Contains(v.Summary, "assert 3 == 5"); told != (message != "") {
			t.Errorf("%s: the summary is %q", name, v.Summary)
		}
	}
}

// TestTheSummaryOfSForgesParsersNamesFailingTests, and none that the manifest does not name.
func TestTheSummaryOfSForgesParsersNamesFailingTests(t *testing.T) {
	many := strings.Repeat("x+ ", 3)
	for i := range 12 {
		many += fmt.Sprintf("f%d- ", i)
	}
	for _, tt := range []struct{ parser, expect, seen, want string }{
		{"pytest_v", "", "a+ b+ .", "2/2 tests passed"},
		{"pytest_v", "", "a+ b- c! d~ .", "1/3 tests passed. Failed: b, c"},
		{"score_sum", "", many + ".", "3/15 tests passed. Failed: f0, f1, f2, f3, f4, f5, f6, f7, f8, f9 (+2 more)"},
		{"pytest_v", "a b c d", "a+ b- c~ leak- .", "1/4 tests passed. Failed: b, c, d"},
		{"pytest", "", "a+ b- .", "1/2 tests passed"},
	} {
		p, _ := parser.Lookup(tt.parser)
		tk := task.Task{Judge: task.Judge{Parser: tt.parser, Expect: strings.Fields(tt.expect)}}
		exit := min(1, strings.Count(tt.seen, "- "))
		if r := Verdict(tk, Observation{Parser: p, Result: runs(tt.seen), Exit: exit}); r.Summary != tt.want {
			t.Errorf("%s, %q: %q, want %q", tt.parser, tt.seen, r.Summary, tt.want)
		}
	}
}

// What has to be mended comes first: an agent learns of it however many tests there are.
func TestFeedbackShowsFailingTestsFirst(t *testing.T) {
	var tests []parser.Test
	var names []string
	for i := range 900 {
		tests = append(tests, parser.Test{Name: fmt.Sprint("t", i), Status: parser.Passed})
		names = append(names, fmt.Sprint("t", i))
	}
	tests[899].Status, tests[800].Status = parser.Failed, parser.Errored
	r := &round.Report{Status: round.StatusOK, Tests: tests}
	for _, tt := range []struct {
		expect []string
		want   int
	}{{nil, feedbackTests}, {names, 900}} {
		v := feedback(task.Task{Judge: task.Judge{Feedback: "full", Expect: tt.expect}}, round.Submission{Report: r})
		if len(v.Details) != tt.want || v.Details[0].Name != "t800" || v.Details[1].Name != "t899" {
			t.Errorf("%d details, beginning with %+v", len(v.Details), v.Details[:2])
		}
	}
}
