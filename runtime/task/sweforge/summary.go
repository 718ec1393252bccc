package sweforge

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"

	"github.com/assayd/assayd/runtime/task"
)

// Bounds of what a summary keeps of outputs, in bytes of their beginning.
const (
	maxAgentOutput = 10_000
	maxTestOutput  = 2000
)

// Summary is what swe-forge's harness prints, with two counts that it lacks, and with the controls
// apart. The counts follow from the results: NewSummary makes it.
type Summary struct {
	Counts
	Controls map[string]Counts `json:"controls,omitempty"` // by the name of the agent; in no other count
	Results  []Result          `json:"results"`
}

// Counts are how results ended.
type Counts struct {
	Total            int     `json:"total"`
	Resolved         int     `json:"resolved"`
	Unresolved       int     `json:"unresolved"`
	AgentError       int     `json:"agent_error"`
	TestError        int     `json:"test_error"`
	SetupError       int     `json:"setup_error"`
	SanityFail       int     `json:"sanity_fail"`
	InfraError       int     `json:"infra_error"`
	Cancelled        int     `json:"cancelled"`
	AvgAgentTimeSecs float64 `json:"avg_agent_time_secs"` // over the results with an agent, one decimal
}

// Result is of one task.
type Result struct {
	TaskID            string  `json:"task_id"`
	Repo              string  `json:"repo"`
	Agent             string  `json:"agent"`
	Control           bool    `json:"control,omitempty"` // the agent is the oracle or nop
	Status            string  `json:"status"`
	SanityCheck       bool    `json:"sanity_check"`
	FailToPass        []Test  `json:"fail_to_pass"`
	PassToPass        []Test  `json:"pass_to_pass"`
	AgentDurationSecs float64 `json:"agent_duration_secs"`
	TotalDurationSecs float64 `json:"total_duration_secs"`
	AgentOutput       string  `json:"agent_output"`
	Error             string  `json:"error,omitempty"`
	ContainerID       string  `json:"container_id,omitempty"`
}

// Test is one command, or one of the tests that a command runs: then Name is the test's.
type Test struct {
	Command    string `json:"command"`
	Name       string `json:"test,omitempty"`
	ExitCode   *int   `json:"exit_code"` // of the command; nil = not known, or it says nothing of the test
	Stdout     string `json:"stdout"`
	Stderr     string `json:"stderr"`
	Passed     bool   `json:"passed"`
	DurationMS *int64 `json:"duration_ms"` // of the command; nil = not known
}

// ExitTimedOut is the exit code that swe-forge's harness gives a command that is out of time.
const ExitTimedOut = -1

// TestCommand is the command that runs all tests of a task that names them; "" = the command is no
// single line, or each test is a command.
func TestCommand(t task.Task) string {
	if t.Judge.Staged() {
		return commandLine(t.Judge.Grade.Command)
	}
	return commandLine(t.Judge.Tests())
}

// Names are what swe-forge calls a task and its repository: "owner/repo-412" and "owner/repo",
// also where the task is called otherwise here, as its folder cannot have a slash in its name.
func Names(t task.Task) (id, repo string) {
	id, repo = t.Name, t.Metadata["repo"]
	if original := t.Metadata["id"]; TaskName(original) == t.Name {
		id = original
	}
	if repo == "" && t.Repo != nil {
		repo = repoOf(t.Repo.URL)
	}
	return id, repo
}

// NewSummary counts results, keeps them in their order, and cuts what is too long.
func NewSummary(results []Result) Summary {
	s := Summary{Results: make([]Result, 0, len(results))}
	var agents []Result
	controls := map[string][]Result{}
	for _, r := range results {
		if r.Control {
			controls[r.Agent] = append(controls[r.Agent], r)
		} else {
			agents = append(agents, r)
		}
		r.AgentOutput = head(r.AgentOutput, maxAgentOutput)
		r.FailToPass, r.PassToPass = cut(r.FailToPass), cut(r.PassToPass)
		s.Results = append(s.Results, r)
	}
	s.Counts = count(agents)
	for name, of := range controls {
		if s.Controls == nil {
			s.Controls = map[string]Counts{}
		}
		s.Controls[name] = count(of)
	}
	return s
}

func count(results []Result) Counts {
	c := Counts{Total: len(results)}
	by := map[string]*int{
		"resolved": &c.Resolved, "unresolved": &c.Unresolved, "agent_error": &c.AgentError, "test_error": &c.TestError,
		"setup_error": &c.SetupError, "sanity_fail": &c.SanityFail, "infra_error": &c.InfraError, "cancelled": &c.Cancelled,
	}
	seconds, agents := 0.0, 0
	for _, r := range results {
		if n := by[r.Status]; n != nil {
			*n++
		}
		if r.AgentDurationSecs > 0 {
			seconds, agents = seconds+r.AgentDurationSecs, agents+1
		}
	}
	if agents > 0 {
		c.AvgAgentTimeSecs = math.Round(seconds/float64(agents)*10) / 10
	}
	return c
}

// JSON is the summary as it is printed and written: always the same for the same results.
func (s Summary) JSON() ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(s); err != nil {
		return nil, fmt.Errorf("write the summary: %w", err)
	}
	return b.Bytes(), nil
}

func cut(tests []Test) []Test {
	out := make([]Test, 0, len(tests))
	for _, t := range tests {
		t.Stdout, t.Stderr = head(t.Stdout, maxTestOutput), head(t.Stderr, maxTestOutput)
		out = append(out, t)
	}
	return out
}

// head is the beginning of a text, with no half character at its end.
func head(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && text[most]&0xC0 == 0x80 {
		most--
	}
	return text[:most]
}
