package foreign

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/judge/parser"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/task"
	"github.com/assayd/assayd/runtime/task/sweforge"
	"github.com/assayd/assayd/runtime/trial"
)

// What a summary says of a test is what was seen of it, or null: no exit code and no time is
// invented, neither of a command out of time nor of a test that one command runs with others.
func TestTheSummaryInventsNothingOfATest(t *testing.T) {
	one, ms := 1, int64(25)
	commands := task.Task{FailToPass: []string{"make a", "make b"}, PassToPass: []string{"make c"}}
	named := task.Task{Judge: task.Judge{Command: task.Command{Argv: []string{"go", "test", "-run", "A|B"}}, Parser: "gotest"}}
	for name, c := range map[string]struct {
		task    task.Task
		records []trial.TestRecord
		report  round.Report
		want    string
	}{
		"a command each": {
			commands,
			[]trial.TestRecord{{Name: "make a", Passed: true}, {Name: "make b"}, {Name: "make c"}, {Name: "gone"}},
			round.Report{JudgeMS: 99, Tests: []parser.Test{
				{Name: "make a", Status: parser.Passed, ExitCode: new(int), DurationMS: &ms, Output: "built\n", Message: "by its exit code alone"},
				{Name: "make b", Status: parser.Failed, ExitCode: &one, DurationMS: &ms, Output: "no rule\n", Message: "exit code 1: no rule"},
				{Name: "make c", Status: parser.Failed, TimedOut: true, DurationMS: &ms, Output: "at it\n", Message: "out of time: at it"},
			}},
			`[{"command":"make a","exit_code":0,"stdout":"built\n","stderr":"","passed":true,"duration_ms":25},` +
				`{"command":"make b","exit_code":1,"stdout":"no rule\n","stderr":"","passed":false,"duration_ms":25},` +
				`{"command":"make c","exit_code":-1,"stdout":"at it\n","stderr":"","passed":false,"duration_ms":25},` +
				`{"command":"gone","exit_code":null,"stdout":"","stderr":"","passed":false,"duration_ms":null}]`,
		},
		"a command for all tests": {
			named,
			[]trial.TestRecord{{Name: "w::TestA", Passed: true}, {Name: "w::TestB"}},
			round.Report{JudgeMS: 99, ExitCode: 1, Tests: []parser.Test{{Name: "w::TestA", Status: parser.Passed}, {Name: "w::TestB", Status: parser.Failed, Message: "w_test.go:3: is 2"}}},
			`[{"command":"go test -run 'A|B'","test":"w::TestA","exit_code":null,"stdout":"","stderr":"","passed":true,"duration_ms":99},` +
				`{"command":"go test -run 'A|B'","test":"w::TestB","exit_code":null,"stdout":"w_test.go:3: is 2","stderr":"","passed":false,"duration_ms":99}]`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := harnessResult{result: sweforge.Result{FailToPass: testsOf(c.task, c.records)}}
			h.told(c.report)
			got, err := json.Marshal(h.result.FailToPass)
			if diff := cmp.Diff(c.want, string(got)); diff != "" || err != nil {
				t.Error(err, diff)
			}
		})
	}
}

// Three agents at one task have three results that one can tell apart, and times in whole
// milliseconds, as no sum of fractions of a second is.
func TestAResultNamesItsAgentAndHasWholeMilliseconds(t *testing.T) {
	r := New(Options{})
	began := time.Date(2026, 11, 27, 10, 0, 0, 0, time.UTC)
	s := trial.State{ID: "r.e1.1", StartedAt: began, Result: &trial.Finished{Agent: "codex-high", Status: trial.Resolved, AgentDuration: 1.2}}
	got := r.harnessResult(s, store.TrialRow{FinishedAt: began.Add(1493 * time.Millisecond)}).result
	if text, err := json.Marshal(got); err != nil || got.Agent != "codex-high" || !strings.Contains(string(text), `"total_duration_secs":1.493,`) {
		t.Errorf("%s, %v", text, err)
	}
}
