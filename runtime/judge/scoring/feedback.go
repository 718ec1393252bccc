package scoring

import (
	"fmt"
	"slices"
	"strings"

	"github.com/assayd/assayd/runtime/judge/parser"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/task"
)

// Bounds on what flows back to an agent: submitted code can choose names and messages,
// and has read the hidden tests when it does.
const (
	feedbackTests    = 200 // without a manifest; with one, so many have a message
	feedbackDeclared = 5000
	feedbackName     = 200
	feedbackMessage  = 2048
	feedbackMetrics  = 100
	feedbackSummary  = 4096
)

type (
	// Result is a submission as its agent sees it, in the shape that existing clients expect.
	Result struct {
		ID     string    `json:"submission_id"`
		Status string    `json:"status"` // queued, running, completed, error
		Report *Feedback `json:"report"`
		Error  *string   `json:"error"`
	}

	// Feedback is what the agent is told of a verdict.
	Feedback struct {
		TaskID      string             `json:"task_id"`
		ID          string             `json:"submission_id"`
		TotalTests  *int               `json:"total_tests,omitempty"`
		Passed      *int               `json:"passed,omitempty"`
		Failed      *int               `json:"failed,omitempty"`
		Errors      *int               `json:"errors,omitempty"`
		PassRate    *float64           `json:"pass_rate,omitempty"`
		Score       *float64           `json:"score"`
		Valid       *bool              `json:"valid,omitempty"`
		TimedOut    bool               `json:"timed_out"`
		Runtime     float64            `json:"runtime_seconds"`
		SubmittedAt float64            `json:"submitted_at"` // of acceptance
		Summary     string             `json:"summary"`
		TestDetails []TestFeedback     `json:"test_details"`
		Details     []TestFeedback     `json:"details"`
		Metrics     map[string]float64 `json:"metrics"`
	}

	// TestFeedback is what the agent is told of a test.
	TestFeedback struct {
		Name    string   `json:"name"`
		Status  string   `json:"status"` // PASSED, FAILED, ERROR, SKIPPED
		Message string   `json:"message,omitempty"`
		Score   *float64 `json:"score,omitempty"`
		Weight  *float64 `json:"weight,omitempty"`
	}

	// History is what the agent is told of its trial so far.
	History struct {
		RunID    string   `json:"run_id"`
		Score    *float64 `json:"best_score"`
		PassRate float64  `json:"best_pass_rate"`
		Round    string   `json:"best_round"`
		Agent    int      `json:"agent_submissions"`
		Auto     int      `json:"auto_submissions"` // 0: agents do not learn of them
		Entries  []any    `json:"entries"`          // Entry, or GameEntry
	}

	// Entry is a submission in a history.
	Entry struct {
		Type     string   `json:"type"`
		Status   string   `json:"status"` // running, completed, error
		ID       string   `json:"submission_id"`
		TaskID   string   `json:"task_id"`
		Round    string   `json:"round"`
		PassRate *float64 `json:"pass_rate,omitempty"`
		Score    *float64 `json:"score,omitempty"`
		Passed   *int     `json:"passed,omitempty"`
		Failed   *int     `json:"failed,omitempty"`
		Total    *int     `json:"total_tests,omitempty"`
		Valid    *bool    `json:"valid,omitempty"`
		Summary  string   `json:"summary,omitempty"`
		Error    string   `json:"error,omitempty"`
	}
)

// ResultView is what an agent is told of its submission.
func ResultView(t task.Task, s round.Submission) Result {
	v := Result{ID: s.ID, Status: "queued"}
	switch {
	case s.State == round.StateRunning:
		v.Status = "running"
	case s.State == round.StateJudged && round.InfraFailed(s):
		v.Status, v.Error = "error", new("the judge's machinery failed; this round was not counted")
	case s.State == round.StateJudged:
		v.Status, v.Report = "completed", feedback(t, s)
	}
	return v
}

// feedback is the report as far as the task lets its agents see it.
func feedback(t task.Task, s round.Submission) *Feedback {
	r := s.Report
	v := &Feedback{
		TaskID: t.Name, ID: s.ID,
		SubmittedAt: float64(s.AcceptedAt.UnixMilli()) / 1000,
		TestDetails: []TestFeedback{}, Details: []TestFeedback{}, Metrics: map[string]float64{},
		Summary: "The submission was judged. This task tells nothing about the result.",
	}
	level := t.Judge.Feedback
	if level == "none" {
		return v
	}
	v.TotalTests, v.Passed, v.Failed, v.Errors = &r.TotalTests, &r.Passed, &r.Failed, &r.Errors
	v.PassRate, v.Score, v.Valid = &r.PassRate, r.Score, &r.Valid
	v.TimedOut, v.Runtime = r.Status == round.StatusTimeout, float64(r.JudgeMS)/1000
	v.Summary = outline(r)
	switch level {
	case "score":
	case "full":
		v.TestDetails, v.Details = visible(t, r.Tests, false), visible(t, r.Tests, TellsMessages(t))
		v.Summary = round.Clip(r.Summary+"\n"+problemFor(t, r), feedbackSummary)
		for name, value := range r.Metrics {
			if len(v.Metrics) < feedbackMetrics {
				v.Metrics[round.Clip(name, feedbackName)] = value
			}
		}
	default: // names
		failing := slices.DeleteFunc(slices.Clone(r.Tests), func(t parser.Test) bool {
			return t.Status == parser.Passed || t.Status == parser.Skipped
		})
		v.TestDetails = visible(t, failing, false)
		v.Details = v.TestDetails
	}
	return v
}

// TellsMessages reports whether agents are told what tests print when they fail.
func TellsMessages(t task.Task) bool { return t.Judge.Feedback == "full" && !statusesOnly(t) }

// problemFor is what agents are told of a problem with the run. It may quote what tests printed.
func problemFor(t task.Task, r *round.Report) string {
	if statusesOnly(t) && r.Problem != "" {
		return outline(r)
	}
	return r.Problem
}

// statusesOnly reports whether the task's parser is one of SForge's whose results have a name and a
// status for each test and nothing else. Their tests print values that agents must not see.
func statusesOnly(t task.Task) bool {
	return t.Judge.Parser == "pytest_v" || t.Judge.Parser == "score_sum"
}

// outline says in words of ours how it went, with nothing the submission could choose.
func outline(r *round.Report) string {
	text := fmt.Sprintf("%d/%d tests passed", r.Passed, r.TotalTests)
	switch r.Status {
	case round.StatusTimeout:
		text += "; the tests ran out of time"
	case round.StatusTampered:
		text += "; the submission is not valid: it interfered with the test run"
	case round.StatusInvalid:
		text += "; the run gave no usable result"
	}
	return text
}

// failingFirst puts what an agent has to mend before the rest, which may be cut.
func failingFirst(tests []parser.Test) []parser.Test {
	sorted := slices.Clone(tests)
	slices.SortStableFunc(sorted, func(a, b parser.Test) int { return rank(a.Status) - rank(b.Status) })
	return sorted
}

func rank(s parser.Status) int {
	if s == parser.Failed || s == parser.Errored {
		return 0
	}
	return 1
}

// visible bounds tests for an agent. With a manifest no other name gets out.
func visible(t task.Task, tests []parser.Test, messages bool) []TestFeedback {
	names := map[string]bool{}
	for _, name := range DeclaredTests(t) {
		names[name] = true
	}
	limit := feedbackTests
	if len(names) > 0 {
		limit = feedbackDeclared
	}
	out := []TestFeedback{}
	for _, test := range failingFirst(tests) {
		if len(out) == limit {
			break
		}
		if len(names) > 0 && !names[test.Name] {
			continue
		}
		v := TestFeedback{Name: round.Clip(test.Name, feedbackName), Status: strings.ToUpper(string(test.Status))}
		if len(names) > 0 {
			v.Name = test.Name
		}
		if messages && len(out) < feedbackTests {
			v.Message, v.Score, v.Weight = round.Clip(test.Message, feedbackMessage), test.Score, test.Weight
		}
		out = append(out, v)
	}
	return out
}

// HistoryView is what an agent is told of its submissions and games so far.
func HistoryView(t task.Task, trial string, own []round.Submission) History {
	v := History{RunID: trial, Entries: []any{}}
	for _, s := range own {
		if s.Kind == round.KindGame {
			v.Entries = append(v.Entries, gameEntryOf(t, s))
			continue
		}
		v.Agent++
		v.Entries = append(v.Entries, historyEntry(t, s))
	}
	told := t.Judge.Game != "" || t.Judge.Feedback != "none" // a game's score is part of the play
	if best, ok := Best(t.Judge, own); ok && told {
		v.Score, v.PassRate, v.Round = best.Report.Score, best.Report.PassRate, best.Round
	}
	return v
}

func historyEntry(t task.Task, s round.Submission) Entry {
	e := Entry{Type: "submission", Status: "running", ID: s.ID, TaskID: t.Name, Round: s.Round}
	view := ResultView(t, s)
	if s.State == round.StateJudged {
		e.Status = view.Status
	}
	if view.Error != nil {
		e.Error = *view.Error
	}
	if r := view.Report; r != nil {
		e.PassRate, e.Score, e.Passed, e.Failed = r.PassRate, r.Score, r.Passed, r.Failed
		e.Total, e.Valid, e.Summary = r.TotalTests, r.Valid, r.Summary
	}
	return e
}
