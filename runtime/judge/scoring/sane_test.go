package scoring

import (
	"strings"
	"testing"

	"github.com/assayd/assayd/runtime/judge/parser"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/task"
)

func TestTheUntouchedTreeIsNeverTheBestRound(t *testing.T) {
	r := &round.Report{Status: round.StatusOK, Valid: true, PassRate: 1}
	if best, ok := Best(task.Judge{}, []round.Submission{{Kind: round.KindSanity, State: round.StateJudged, Report: r}, {Kind: round.KindPrivate, State: round.StateJudged, Report: r}}); ok {
		t.Errorf("%s is the best round", best.Kind)
	}
}

func TestSanityOfATask(t *testing.T) {
	const passed, failed, skipped = parser.Passed, parser.Failed, parser.Skipped
	of := func(status parser.Status, names ...string) (tests []parser.Test) {
		for _, name := range names {
			tests = append(tests, parser.Test{Name: name, Status: status, Message: "because"})
		}
		return tests
	}
	report := func(tests ...[]parser.Test) round.Report {
		r := round.Report{Status: round.StatusOK, Valid: true}
		for _, some := range tests {
			r.Tests = append(r.Tests, some...)
		}
		return r
	}
	for _, tt := range []struct {
		name     string
		f2p, p2p []string
		report   round.Report
		offence  string
	}{
		{"sound", []string{"a", "b"}, []string{"c"}, report(of(failed, "a"), of(parser.Errored, "b"), of(passed, "c")), ""},
		{"what is not there yet fails", []string{"a"}, []string{"c"}, report(of(passed, "c")), ""},
		{"what is skipped does not pass", []string{"a"}, nil, report(of(skipped, "a")), ""},
		{"a passes", []string{"b", "a"}, []string{"c"}, report(of(failed, "b", "c"), of(passed, "a")), "a of fail_to_pass passes before any change"},
		{"c fails", []string{"a"}, []string{"d", "c"}, report(of(failed, "a", "c"), of(passed, "d")), "c of pass_to_pass fails (because) before any change"},
		{"c is skipped", nil, []string{"c"}, report(of(skipped, "c")), "c of pass_to_pass is skipped (because) before any change"},
		{"c is not there", nil, []string{"c"}, report(), "c of pass_to_pass is not seen before any change"},
		{"in another form", []string{"TestA"}, nil, report(of(passed, "x::TestA")), "TestA of fail_to_pass passes before any change"},
		{"no lists, something fails", nil, nil, round.Report{Status: round.StatusOK, Valid: true, PassRate: .9}, ""},
		{"no lists, nothing is valid", nil, nil, round.Report{Status: round.StatusInvalid, PassRate: 1}, ""},
		{"no lists, all passes", nil, nil, round.Report{Status: round.StatusOK, Valid: true, PassRate: 1}, "all tests pass before any change"},
	} {
		if got := Sane(task.Task{FailToPass: tt.f2p, PassToPass: tt.p2p}, tt.report); got != tt.offence {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.offence)
		}
	}
}

func TestAReportThatTellsOfNoTestIsUnusable(t *testing.T) {
	bad := []parser.Test{{Name: "a", Status: parser.Failed}}
	for _, tt := range []struct {
		name   string
		report round.Report
		want   bool
	}{
		{"a verdict", round.Report{Status: round.StatusOK, Valid: true, Problem: "x"}, false},
		{"out of time", round.Report{Status: round.StatusTimeout, Problem: "x"}, false},
		{"tampered", round.Report{Status: round.StatusTampered, Problem: "x"}, false},
		{"invalid, for a test failed", round.Report{Status: round.StatusInvalid, Problem: "x", Tests: bad}, false},
		{"invalid", round.Report{Status: round.StatusInvalid, Problem: "x"}, true},
		{"not run", round.Report{Status: round.StatusInvalid, NotRun: true, Problem: "x", Tests: bad}, true},
		{"the machinery failed", round.Report{Status: round.StatusError, Problem: "x"}, true},
	} {
		if got := Unusable(tt.report); (got != "") != tt.want || tt.want && !strings.Contains(got, "x") {
			t.Errorf("%s: %q", tt.name, got)
		}
	}
}
