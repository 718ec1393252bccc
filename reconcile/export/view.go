package export

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/assayd/assayd/reconcile/history"
	"github.com/assayd/assayd/runtime/judge/parser"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/judge/scoring"
)

// History is the host's view of what was submitted: the agent's, and besides it the
// rounds that no agent learns of.
type History struct {
	RunID    string   `json:"run_id"`
	Score    *float64 `json:"best_score"`
	PassRate float64  `json:"best_pass_rate"`
	Round    string   `json:"best_round"`
	Agent    int      `json:"agent_submissions"`
	Auto     int      `json:"auto_submissions"`
	Entries  []any    `json:"entries"` // Entry or GameEntry, in order of acceptance
}

// Entry is one round. What a verdict says is absent while there is none, and where the
// machinery failed: a broken machine is never a zero score.
type Entry struct {
	Type   string `json:"type"`
	Status string `json:"status"` // running, completed, error
	ID     string `json:"submission_id"`
	TaskID string `json:"task_id"`
	RunID  string `json:"run_id,omitempty"` // the trial, where several are shown
	Round  string `json:"round"`
	*Numbers
	Error       string  `json:"error,omitempty"`
	SubmittedAt float64 `json:"submitted_at"`
}

// Numbers are what a verdict says.
type Numbers struct {
	PassRate float64  `json:"pass_rate"`
	Score    *float64 `json:"score"`
	Score100 *float64 `json:"score_0_100"`
	Passed   int      `json:"passed"`
	Failed   int      `json:"failed"`
	Total    int      `json:"total_tests"`
	Valid    bool     `json:"valid"`
	Summary  string   `json:"summary"`
	Runtime  float64  `json:"runtime_seconds"`
	TimedOut bool     `json:"timed_out"`
}

// GameEntry is one session with a game server.
type GameEntry struct {
	Type       string            `json:"type"`
	Status     string            `json:"status"`
	ID         string            `json:"session_id"`
	TaskID     string            `json:"task_id"`
	RunID      string            `json:"run_id,omitempty"`
	Round      string            `json:"round"`
	MaxScore   float64           `json:"max_score"`
	PeakScore  float64           `json:"peak_score"`
	FinalScore float64           `json:"final_score"`
	Score      float64           `json:"score"` // what counts: the peak
	Moves      int               `json:"moves"`
	PassRate   float64           `json:"pass_rate"`
	Summary    string            `json:"summary"`
	Steps      []json.RawMessage `json:"steps,omitempty"` // in an export
}

// HistoryOf is the history of one trial, under the names that it is to have.
func HistoryOf(runID, taskID string, r history.TrialRecord) History {
	h := History{RunID: runID, Entries: []any{}}
	for _, sub := range rounds(r) {
		switch sub.Kind {
		case round.KindAgent:
			h.Agent++
		case round.KindAuto:
			h.Auto++
		}
		if sub.Kind == round.KindGame {
			h.Entries = append(h.Entries, gameEntry(taskID, sub))
		} else {
			h.Entries = append(h.Entries, entry(taskID, sub))
		}
	}
	if best, ok := scoring.Best(r.Cell.Task.Judge, rounds(r)); ok {
		h.Score, h.PassRate, h.Round = best.Report.Score, best.Report.PassRate, best.Round
	}
	return h
}

// HistoryOfRun is the history of all trials of a run; the best is that of the trial with
// the highest rate.
func HistoryOfRun(runID string, trials []history.TrialRecord) History {
	if len(trials) == 1 {
		return HistoryOf(runID, trials[0].Cell.Task.Name, trials[0])
	}
	all := History{RunID: runID, Entries: []any{}}
	for _, r := range trials {
		h := HistoryOf(r.ID, r.Cell.Task.Name, r)
		for _, e := range h.Entries {
			all.Entries = append(all.Entries, ofTrial(e, r.ID))
		}
		all.Agent, all.Auto = all.Agent+h.Agent, all.Auto+h.Auto
		if h.Round != "" && (all.Round == "" || h.PassRate > all.PassRate) {
			all.Score, all.PassRate, all.Round = h.Score, h.PassRate, h.Round
		}
	}
	return all
}

// ofTrial says in an entry whose it is.
func ofTrial(e any, id string) any {
	switch e := e.(type) {
	case Entry:
		e.RunID = id
		return e
	case GameEntry:
		e.RunID = id
		return e
	}
	return e
}

// gameEntry is a session without its steps. One that is still played stands where its
// peak is.
func gameEntry(taskID string, sub round.Submission) GameEntry {
	e := GameEntry{Type: "game", Status: statusOf(sub), ID: sub.ID, TaskID: taskID, Round: sub.Round}
	if r := sub.Report; r != nil {
		e.MaxScore, e.PeakScore, e.FinalScore = r.Metrics["max_score"], r.Metrics["peak_score"], r.Metrics["final_score"]
		e.Score, e.Moves, e.PassRate, e.Summary = e.PeakScore, int(r.Metrics["moves"]), r.PassRate, r.Summary
	}
	return e
}

func statusOf(sub round.Submission) string {
	switch {
	case sub.State != round.StateJudged:
		return "running"
	case sub.Report.Status == round.StatusError:
		return "error"
	}
	return "completed"
}

// rounds are those that others know of. A private set is none of them: who took it for a
// round would take its rate for progress.
func rounds(r history.TrialRecord) (known []round.Submission) {
	for _, sub := range r.Counted(r.Rounds) {
		if !sub.Kind.Internal() {
			known = append(known, sub)
		}
	}
	return known
}

func entry(taskID string, sub round.Submission) Entry {
	e := Entry{
		Type: "submission", Status: statusOf(sub), ID: sub.ID, TaskID: taskID, Round: sub.Round, SubmittedAt: unix(sub.AcceptedAt),
	}
	switch r := sub.Report; e.Status {
	case "error":
		e.Error = r.Problem
	case "completed":
		e.Numbers = &Numbers{
			PassRate: r.PassRate, Score: r.Score, Score100: r.Score100, Passed: r.Passed, Failed: r.Failed, Total: r.TotalTests,
			Valid: r.Valid, Summary: r.Summary, Runtime: seconds(r.JudgeMS), TimedOut: r.Status == round.StatusTimeout,
		}
	}
	return e
}

// report is report.json. What follows SubmittedAt is ours.
type report struct {
	TaskID      string             `json:"task_id"`
	ID          string             `json:"submission_id"`
	Total       int                `json:"total_tests"`
	Passed      int                `json:"passed"`
	Failed      int                `json:"failed"`
	Errors      int                `json:"errors"`
	PassRate    float64            `json:"pass_rate"`
	Score       *float64           `json:"score"`
	Score100    *float64           `json:"score_0_100"`
	TimedOut    bool               `json:"timed_out"`
	Runtime     float64            `json:"runtime_seconds"`
	TestDetails []test             `json:"test_details"`
	Valid       bool               `json:"valid"`
	Summary     *string            `json:"summary"`
	Details     []test             `json:"details"`
	Metrics     map[string]float64 `json:"metrics"`
	SubmittedAt float64            `json:"submitted_at"`

	Round     string       `json:"round"`
	Kind      round.Kind   `json:"kind"`
	Status    round.Status `json:"status"`
	Problem   string       `json:"problem,omitempty"`
	ExitCode  int          `json:"exit_code"`
	Isolation string       `json:"isolation"`
	Tampered  bool         `json:"tampered"`
	Cached    bool         `json:"cached"`
	QueuedS   float64      `json:"queued_seconds"`
	Archive   string       `json:"archive_sha256"` // of the cleaned tar, uncompressed
}

type test struct {
	Name    string   `json:"name"`
	Status  string   `json:"status"` // PASSED, FAILED, ERROR, SKIPPED
	Message string   `json:"message,omitempty"`
	Score   *float64 `json:"score,omitempty"`
	Weight  *float64 `json:"weight,omitempty"`
}

func reportOf(taskID string, sub round.Submission) report {
	r := sub.Report
	out := report{
		TaskID: taskID, ID: sub.ID, Total: r.TotalTests, Passed: r.Passed, Failed: r.Failed, Errors: r.Errors,
		PassRate: r.PassRate, Score: r.Score, Score100: r.Score100, TimedOut: r.Status == round.StatusTimeout,
		Runtime: seconds(r.JudgeMS), TestDetails: []test{}, Valid: r.Valid, Details: []test{},
		Metrics: map[string]float64{}, SubmittedAt: unix(sub.AcceptedAt),
		Round: sub.Round, Kind: sub.Kind, Status: r.Status, Problem: r.Problem, ExitCode: r.ExitCode, Isolation: r.Isolation,
		Tampered: r.Tampered, Cached: r.Cached, QueuedS: seconds(r.QueuedMS), Archive: sub.Archive,
	}
	if r.Summary != "" {
		out.Summary = &r.Summary
	}
	if r.Metrics != nil {
		out.Metrics = r.Metrics
	}
	for _, t := range r.Tests {
		status := strings.ToUpper(string(t.Status))
		if t.Status != parser.Skipped {
			out.TestDetails = append(out.TestDetails, test{Name: t.Name, Status: status})
		}
		out.Details = append(out.Details, test{t.Name, status, t.Message, t.Score, t.Weight})
	}
	return out
}

// unix is a moment in seconds, 0 for none.
func unix(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.UnixMicro()) / 1e6
}

func seconds(ms int64) float64 { return float64(ms) / 1000 }
