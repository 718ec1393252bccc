package round

import (
	"strings"
	"unicode"

	"github.com/assayd/assayd/runtime/judge/parser"
	"github.com/assayd/assayd/runtime/truncate"
)

// Status of a report.
type Status string

// Statuses of a report.
const (
	StatusOK       Status = "ok"
	StatusTimeout  Status = "timeout"
	StatusInvalid  Status = "invalid"  // no usable result
	StatusTampered Status = "tampered" // a tripwire came out wrong
	StatusError    Status = "error"    // the machinery failed for good; never a zero score
)

// Report is what the judge says of a submission.
type Report struct {
	Status     Status             `json:"status"`
	PassRate   float64            `json:"pass_rate"` // 0..1
	Score      *float64           `json:"score"`     // finite
	Score100   *float64           `json:"score_0_100"`
	Valid      bool               `json:"valid"`
	Passed     int                `json:"passed"`
	Failed     int                `json:"failed"`
	Errors     int                `json:"errors"`
	TotalTests int                `json:"total_tests"`
	Summary    string             `json:"summary"`
	Tests      []parser.Test      `json:"tests,omitempty"`
	Metrics    map[string]float64 `json:"metrics,omitempty"`
	ExitCode   int                `json:"exit_code"`
	Isolation  string             `json:"isolation"` // shared or staged
	Tampered   bool               `json:"tampered"`
	Cached     bool               `json:"cached"`
	Problem    string             `json:"problem,omitempty"`  // why a status is not ok, in words
	NotRun     bool               `json:"not_run,omitempty"`  // the judge command could not be started at all
	Expected   []string           `json:"expected,omitempty"` // tests that count as passed because their failure is expected, as the runner calls them
	Unseen     bool               `json:"unseen,omitempty"`   // it ended by itself, and none of the expected tests, nor another, was seen
	QueuedMS   int64              `json:"queued_ms"`          // acceptance to start
	JudgeMS    int64              `json:"judge_ms"`           // the judge command's own time, of both stages where there are two
	DurationMS int64              `json:"duration_ms"`        // start to verdict
	Output     string             `json:"output,omitempty"`   // blob of the bounded raw output
	Outputs    string             `json:"outputs,omitempty"`  // blob of what a run stage handed on, a cleaned tar
}

// Failed is the report on a round of which nothing is known.
func Failed(problem string) Report {
	return Report{Status: StatusError, Isolation: "shared", Problem: Clip(problem, 1000)}
}

// Clip bounds a text in bytes, at the border of a character, and keeps control characters
// other than line breaks and tabs out of terminals.
func Clip(s string, max int) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, truncate.Valid(s, max)))
}

// LastLine returns the last line that is not blank, bounded.
func LastLine(output []byte) string {
	tail := output[max(0, len(output)-4096):]
	lines := strings.Split(strings.TrimSpace(string(tail)), "\n")
	return Clip(lines[len(lines)-1], 300)
}
