package trial

import (
	"github.com/assayd/assayd/runtime/gateway"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/trial/mixedruns"
)

// Finished is the record trial.finished.
type Finished struct {
	Trial         string            `json:"trial"`
	Try           int               `json:"try"`
	Final         bool              `json:"final"`
	Task          string            `json:"task"`
	Agent         string            `json:"agent"`
	Model         string            `json:"model"`
	Attempt       int               `json:"attempt"`
	Control       bool              `json:"control,omitempty"` // the agent is oracle or nop: the trial is in no rate of agents
	Status        Status            `json:"status"`
	Reason        string            `json:"reason"`
	Detail        string            `json:"detail,omitempty"`
	Best          *Best             `json:"best"`
	Private       *PrivateSet       `json:"private"`
	Decoys        *mixedruns.Record `json:"decoys,omitempty"`
	Submissions   Counts            `json:"submissions"`
	AgentDuration float64           `json:"agent_duration_s"`
	TimedOut      bool              `json:"timed_out"`
	Resumes       int               `json:"resumes"`
	HeldS         float64           `json:"held_s,omitempty"` // for which users held requests for its models back, while its time ran on
	Usage         Usage             `json:"usage"`            // of all tries so far
	// DiscardedUsage is what of it went into tries that do not count. LostUsage is the same under the
	// name that it had first, for readers of records of version 1.
	DiscardedUsage Usage        `json:"discarded_usage,omitzero"`
	LostUsage      Usage        `json:"lost_usage,omitzero"`
	FailToPass     []TestRecord `json:"fail_to_pass"`
	PassToPass     []TestRecord `json:"pass_to_pass"`
	Flags          []string     `json:"flags"`
	Log            *FileRecord  `json:"log,omitempty"`
	Patch          *FileRecord  `json:"patch,omitempty"`      // what the agent changed, in single mode
	Extended       *Extended    `json:"extended,omitempty"`   // what it came to beyond its declared deadline; the rest is of then, but for usage and time
	Transcript     *FileRecord  `json:"transcript,omitempty"` // what passed between the agent and its models
	Trajectory     *FileRecord  `json:"trajectory,omitempty"` // the same as an ATIF document
}

// Discarded is DiscardedUsage, also of a trial that an earlier version ended.
func (f *Finished) Discarded() Usage {
	if f.DiscardedUsage == (Usage{}) {
		return f.LostUsage
	}
	return f.DiscardedUsage
}

// Best is the round that counts.
type Best struct {
	Round    string   `json:"round"`
	PassRate float64  `json:"pass_rate"`
	Score    *float64 `json:"score"`
	Score100 *float64 `json:"score_0_100"`
	Elapsed  float64  `json:"elapsed_s"`
}

// PrivateSet is what the private set says of the best round, and of the last snapshot where
// that is another tree.
type PrivateSet struct {
	Round string `json:"round"`
	Score
	Final *Score `json:"final,omitempty"`
}

// Score is the private set's outcome for one tree.
type Score struct {
	Status   round.Status `json:"status"`
	Valid    bool         `json:"valid"`
	PassRate float64      `json:"pass_rate"`
	Score    *float64     `json:"score"`
	Score100 *float64     `json:"score_0_100"`
}

// Counts counts rounds by who sent them.
type Counts struct {
	Agent int `json:"agent"`
	Auto  int `json:"auto"`
}

// Usage is what the agent's model calls cost.
type Usage = gateway.Usage

// TestRecord is the outcome of one declared test in the best round.
type TestRecord struct {
	Name       string `json:"name"`
	Passed     bool   `json:"passed"`
	ExitCode   *int   `json:"exit_code"`
	DurationMS *int64 `json:"duration_ms"`
}

// FileRecord names a file below the state directory.
type FileRecord struct {
	File   string `json:"file"`
	SHA256 string `json:"sha256"`
}
