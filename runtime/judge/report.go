package judge

import (
	"time"

	"github.com/assayd/assayd/runtime/clock"
	"github.com/assayd/assayd/runtime/judge/parser"
	"github.com/assayd/assayd/runtime/task"
)

// Kind says who sent a submission.
type Kind string

// Kinds; a round is "<kind>-<n>", counted from 1 within a trial.
const (
	KindAgent  Kind = "agent"
	KindAuto   Kind = "auto"
	KindFinal  Kind = "final"
	KindManual Kind = "manual"
	KindGame   Kind = "game" // a session with a game server; it has no archive
	// KindPrivate is an archive of the trial once more, judged by the private set. Nobody
	// but the trial's verdict sees it.
	KindPrivate Kind = "private"
	// KindSanity is the untouched tree, judged before any agent works: is the task sound?
	// Nobody but who asked sees it.
	KindSanity Kind = "sanity"
	// KindMixed is an archive of the trial once more, judged with some hidden tests changed.
	// Nobody but the trial's verdict sees it.
	KindMixed Kind = "mixed"
)

// State is where a submission is in its life.
type State string

// States of a submission.
const (
	StateReserved State = "reserved" // round taken, archive not yet stored; gone after a crash
	StateQueued   State = "queued"   // accepted: on disk before it was acknowledged
	StateRunning  State = "running"
	StateJudged   State = "judged" // Report is set; exactly once
)

// Submission is one archive sent to the judge.
type Submission struct {
	ID         string // 16 hex digits
	Trial      string
	Try        int    // of the trial; budgets and the best round are a matter of one try
	Round      string // "agent-3"
	Number     int    // 3
	Kind       Kind
	Key        string // idempotency key; "" = none
	State      State
	Archive    string // SHA-256 of the cleaned, uncompressed tar: its blob
	Bytes      int64  // of that tar
	Dropped    int    // entries that cleaning left out
	ReservedAt time.Time
	AcceptedAt time.Time
	StartedAt  time.Time
	JudgedAt   time.Time
	Refunds    int    // failures of the machinery so far
	Mix        string `json:",omitempty"` // blob: hidden files that are laid in place of the image's own; "" = there are none
	Report     *Report
}

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

// Session is a trial's right to submit: what is judged, how, and until when.
type Session struct {
	Trial       string
	Try         int
	Labels      map[string]string // of the judge containers
	Token       string            // bearer token of the trial; compared in constant time
	Task        task.Task
	JudgeImage  string     // image id
	RunImage    string     // of the run stage, where that names an image of its own; "" = JudgeImage
	GradeImage  string     // of the grade stage, likewise
	HiddenPaths []string   // relative to workdir: what judge.context, judge.files and private.context put there
	Line        clock.Line // what Deadline and the times of submissions are of; zero = the wall clock
	Deadline    time.Time  // nothing is accepted after it, but for final and manual rounds
	Once        bool       // the agent submits nothing: what it leaves is judged, once
	Keep        bool       // the container of the judging that decides stays, stopped, until Retain says otherwise
	Max         int        // agent rounds; 0 = no limit
	Cooldown    time.Duration
	// Outcomes says that a reference run has shown which tests fail as expected: those of
	// Expected, as the runner calls them, and no others.
	Outcomes bool
	Expected []string
	// Reference holds the names of the tests that a reference run of this judge showed: the
	// manifest where the task declares none. Empty = there was no such run.
	Reference []string
}
