package client

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/assayd/assayd/runtime/guest/safefile"
)

// verdict is the judge's answer about one submission.
type verdict struct {
	SubmissionID string  `json:"submission_id"`
	RoundID      string  `json:"round_id"` // not every judge tells it here
	Status       string  `json:"status"`
	Report       *report `json:"report"`
	Error        string  `json:"error"`
}

type report struct {
	PassRate    *float64       `json:"pass_rate"` // nil = the task does not tell
	Score       *float64       `json:"score"`
	Passed      int            `json:"passed"`
	Failed      int            `json:"failed"`
	Errors      int            `json:"errors"`
	TotalTests  int            `json:"total_tests"`
	Valid       *bool          `json:"valid"` // nil = valid
	Summary     string         `json:"summary"`
	Details     []testResult   `json:"details"`
	TestDetails []testResult   `json:"test_details"`
	Metrics     map[string]any `json:"metrics"`
}

type testResult struct {
	Name    string `json:"name"`
	Status  string `json:"status"`
	Message string `json:"message"`
}

// failed reports whether the test counts as not passed.
func (t testResult) failed() bool {
	return !strings.EqualFold(t.Status, "passed") && !strings.EqualFold(t.Status, "skipped")
}

// maxNames is how many failing tests are listed unless all details are asked for.
const maxNames = 20

// print shows the verdict of a round; details adds a line for every test.
func (v verdict) print(w io.Writer, round string, details bool) {
	fmt.Fprintf(w, "\n--- Result of %s ---\n", round)
	if v.Status == "error" || v.Report == nil {
		fmt.Fprintf(w, "The submission could not be evaluated: %s\n", cmp.Or(v.Error, "the judge gave no reason"))
		return
	}
	r := v.Report
	if r.Valid != nil && !*r.Valid {
		fmt.Fprintln(w, "Valid: no")
	}
	if r.Score != nil {
		fmt.Fprintf(w, "Score: %s\n", number(*r.Score))
	}
	if r.PassRate != nil {
		fmt.Fprintf(w, "Pass rate: %s%%", percent(*r.PassRate))
		if r.TotalTests > 0 {
			fmt.Fprintf(w, " (passed %d/%d)", r.Passed, r.TotalTests)
		}
		fmt.Fprintln(w)
	}
	if r.Summary != "" {
		fmt.Fprintf(w, "Summary: %s\n", r.Summary)
	}
	if len(r.Metrics) > 0 {
		fmt.Fprintln(w, "Metrics:")
		for _, k := range slices.Sorted(maps.Keys(r.Metrics)) {
			fmt.Fprintf(w, "  %s: %v\n", k, r.Metrics[k])
		}
	}
	r.printFailed(w)
	if details {
		r.printTests(w)
	}
}

func (r *report) printFailed(w io.Writer) {
	var names []string
	for _, t := range r.tests() {
		if t.failed() {
			names = append(names, t.Name)
		}
	}
	switch {
	case len(names) > 0:
		fmt.Fprintln(w, "Failed tests:")
		for _, name := range names[:min(len(names), maxNames)] {
			fmt.Fprintf(w, "  - %s\n", name)
		}
		if more := len(names) - maxNames; more > 0 {
			fmt.Fprintf(w, "  ... and %d more\n", more)
		}
	case r.TotalTests > 0 && r.Passed == r.TotalTests:
		fmt.Fprintf(w, "All %d tests passed.\n", r.TotalTests)
	}
}

// tests are the details where the judge gives them, otherwise the names.
func (r *report) tests() []testResult {
	if len(r.Details) > 0 {
		return r.Details
	}
	return r.TestDetails
}

func (r *report) printTests(w io.Writer) {
	tests := r.tests()
	if len(tests) == 0 {
		return // the judge keeps them back
	}
	fmt.Fprintln(w, "Tests:")
	for _, t := range tests {
		fmt.Fprintf(w, "  [%s] %s", strings.ToUpper(t.Status), t.Name)
		if t.Message != "" {
			fmt.Fprintf(w, ": %s", t.Message)
		}
		fmt.Fprintln(w)
	}
}

// percent is a rate in percent with one decimal, cut and not rounded: only what passed
// entirely is 100.0.
func percent(rate float64) string {
	const slack = 1e-9 // 0.29*1000 is a little less than 290
	return strconv.FormatFloat(math.Floor(rate*1000+slack)/10, 'f', 1, 64)
}

func number(f float64) string { return strconv.FormatFloat(f, 'g', 10, 64) }

// history is the judge's answer about all submissions of the trial.
type history struct {
	BestScore        *float64 `json:"best_score"`
	BestPassRate     float64  `json:"best_pass_rate"`
	BestRound        string   `json:"best_round"`
	AgentSubmissions int      `json:"agent_submissions"`
	Entries          []entry  `json:"entries"`
}

type entry struct {
	Status       string   `json:"status"`
	SubmissionID string   `json:"submission_id"`
	SessionID    string   `json:"session_id"` // of a game
	Round        string   `json:"round"`
	PassRate     *float64 `json:"pass_rate"`
	Score        *float64 `json:"score"`
	Valid        *bool    `json:"valid"`
	Summary      string   `json:"summary"`
	Error        string   `json:"error"`
}

// maxSummary is how much of a summary the table shows, in characters.
const maxSummary = 40

func (h history) print(w io.Writer) error {
	fmt.Fprintf(w, "Submissions: %d\n", h.AgentSubmissions)
	if h.BestRound != "" || h.AgentSubmissions == 0 { // none = the task does not tell
		fmt.Fprintf(w, "Best pass rate: %s%%", percent(h.BestPassRate))
		if h.BestRound != "" {
			fmt.Fprintf(w, " (%s)", h.BestRound)
		}
		fmt.Fprintln(w)
	}
	if h.BestScore != nil {
		fmt.Fprintf(w, "Best score: %s\n", number(*h.BestScore))
	}
	if len(h.Entries) == 0 {
		return nil
	}
	fmt.Fprintln(w)
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "ROUND\tSUBMISSION_ID\tSTATUS\tVALID\tPASS_RATE\tSCORE\tSUMMARY")
	for _, e := range h.Entries {
		valid, rate, score := "-", "-", "-"
		if e.Valid != nil {
			valid = map[bool]string{true: "yes", false: "no"}[*e.Valid]
		}
		if e.PassRate != nil {
			rate = percent(*e.PassRate) + "%"
		}
		if e.Score != nil {
			score = number(*e.Score)
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", e.Round, cmp.Or(e.SubmissionID, cmp.Or(e.SessionID, "-")),
			cmp.Or(e.Status, "-"), valid, rate, score, oneLine(cmp.Or(e.Summary, e.Error)))
	}
	return table.Flush()
}

// oneLine makes a summary fit a table.
func oneLine(text string) string {
	runes := []rune(strings.Join(strings.Fields(text), " "))
	return string(runes[:min(len(runes), maxSummary)])
}

// scoreboard is the file in which agents and viewers find what was reached so far. It is
// for display only.
type scoreboard struct {
	BestPassRate float64      `json:"best_pass_rate"`
	BestScore    *float64     `json:"best_score"`
	BestRound    string       `json:"best_round"`
	Submissions  []scoreEntry `json:"submissions"`
}

type scoreEntry struct {
	SubmissionID string   `json:"submission_id"`
	Kind         string   `json:"kind"`
	Round        string   `json:"round"`
	At           int64    `json:"at"` // Unix seconds
	PassRate     float64  `json:"pass_rate"`
	Score        *float64 `json:"score"`
}

// recordScore adds a verdict to the scoreboard at path, once for each submission.
func recordScore(path string, v verdict, round string, at time.Time) error {
	var board scoreboard
	if f, err := safefile.Open(path); err == nil {
		_ = json.NewDecoder(io.LimitReader(f, maxReply)).Decode(&board) // what is broken begins anew
		_ = f.Close()
	}
	known := func(e scoreEntry) bool { return e.SubmissionID == v.SubmissionID }
	if v.Report == nil || v.Report.PassRate == nil || slices.ContainsFunc(board.Submissions, known) {
		return nil
	}
	rate, score := *v.Report.PassRate, v.Report.Score
	if len(board.Submissions) == 0 || rate > board.BestPassRate {
		board.BestPassRate, board.BestScore, board.BestRound = rate, score, round
	}
	board.Submissions = append(board.Submissions, scoreEntry{v.SubmissionID, "agent", round, at.Unix(), rate, score})
	text, err := json.Marshal(board)
	if err != nil {
		return err
	}
	if err := safefile.Replace(path, text); err != nil {
		return err
	}
	return os.Chmod(path, 0o644)
}
