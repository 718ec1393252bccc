package judge

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/assayd/assayd/runtime/judge/parser"
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

// The agent's views of a submission, in the shapes that existing clients expect.
type (
	agentResult struct {
		ID     string       `json:"submission_id"`
		Status string       `json:"status"` // queued, running, completed, error
		Report *agentReport `json:"report"`
		Error  *string      `json:"error"`
	}

	agentReport struct {
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
		TestDetails []agentTest        `json:"test_details"`
		Details     []agentTest        `json:"details"`
		Metrics     map[string]float64 `json:"metrics"`
	}

	agentTest struct {
		Name    string   `json:"name"`
		Status  string   `json:"status"` // PASSED, FAILED, ERROR, SKIPPED
		Message string   `json:"message,omitempty"`
		Score   *float64 `json:"score,omitempty"`
		Weight  *float64 `json:"weight,omitempty"`
	}

	agentHistory struct {
		RunID    string   `json:"run_id"`
		Score    *float64 `json:"best_score"`
		PassRate float64  `json:"best_pass_rate"`
		Round    string   `json:"best_round"`
		Agent    int      `json:"agent_submissions"`
		Auto     int      `json:"auto_submissions"` // 0: agents do not learn of them
		Entries  []any    `json:"entries"`          // agentEntry, or gameEntry
	}

	agentEntry struct {
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

func resultView(t task.Task, s Submission) agentResult {
	v := agentResult{ID: s.ID, Status: "queued"}
	switch {
	case s.State == StateRunning:
		v.Status = "running"
	case s.State == StateJudged && spoilt(s):
		v.Status, v.Error = "error", new("the judge's machinery failed; this round was not counted")
	case s.State == StateJudged:
		v.Status, v.Report = "completed", feedback(t, s)
	}
	return v
}

// feedback is the report as far as the task lets its agents see it.
func feedback(t task.Task, s Submission) *agentReport {
	r := s.Report
	v := &agentReport{
		TaskID: t.Name, ID: s.ID,
		SubmittedAt: float64(s.AcceptedAt.UnixMilli()) / 1000,
		TestDetails: []agentTest{}, Details: []agentTest{}, Metrics: map[string]float64{},
		Summary: "The submission was judged. This task tells nothing about the result.",
	}
	level := t.Judge.Feedback
	if level == "none" {
		return v
	}
	v.TotalTests, v.Passed, v.Failed, v.Errors = &r.TotalTests, &r.Passed, &r.Failed, &r.Errors
	v.PassRate, v.Score, v.Valid = &r.PassRate, r.Score, &r.Valid
	v.TimedOut, v.Runtime = r.Status == StatusTimeout, float64(r.JudgeMS)/1000
	v.Summary = outline(r)
	switch level {
	case "score":
	case "full":
		v.TestDetails, v.Details = visible(t, r.Tests, false), visible(t, r.Tests, TellsMessages(t))
		v.Summary = clip(r.Summary+"\n"+problemFor(t, r), feedbackSummary)
		for name, value := range r.Metrics {
			if len(v.Metrics) < feedbackMetrics {
				v.Metrics[clip(name, feedbackName)] = value
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
func problemFor(t task.Task, r *Report) string {
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
func outline(r *Report) string {
	text := fmt.Sprintf("%d/%d tests passed", r.Passed, r.TotalTests)
	switch r.Status {
	case StatusTimeout:
		text += "; the tests ran out of time"
	case StatusTampered:
		text += "; the submission is not valid: it interfered with the test run"
	case StatusInvalid:
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
func visible(t task.Task, tests []parser.Test, messages bool) []agentTest {
	names := map[string]bool{}
	for _, name := range manifest(t) {
		names[name] = true
	}
	limit := feedbackTests
	if len(names) > 0 {
		limit = feedbackDeclared
	}
	out := []agentTest{}
	for _, test := range failingFirst(tests) {
		if len(out) == limit {
			break
		}
		if len(names) > 0 && !names[test.Name] {
			continue
		}
		v := agentTest{Name: clip(test.Name, feedbackName), Status: strings.ToUpper(string(test.Status))}
		if len(names) > 0 {
			v.Name = test.Name
		}
		if messages && len(out) < feedbackTests {
			v.Message, v.Score, v.Weight = clip(test.Message, feedbackMessage), test.Score, test.Weight
		}
		out = append(out, v)
	}
	return out
}

func historyView(t task.Task, trial string, own []Submission) agentHistory {
	v := agentHistory{RunID: trial, Entries: []any{}}
	for _, s := range own {
		if s.Kind == KindGame {
			v.Entries = append(v.Entries, newGameEntry(t, s))
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

func historyEntry(t task.Task, s Submission) agentEntry {
	e := agentEntry{Type: "submission", Status: "running", ID: s.ID, TaskID: t.Name, Round: s.Round}
	view := resultView(t, s)
	if s.State == StateJudged {
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

// clip bounds a text in bytes, at the border of a character, and keeps control characters
// other than line breaks and tabs out of terminals.
func clip(s string, max int) string {
	if len(s) > max {
		s = s[:max]
	}
	s = strings.ToValidUTF8(s, "")
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, s))
}
