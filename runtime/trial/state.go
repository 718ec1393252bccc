package trial

import (
	"time"

	"github.com/assayd/assayd/runtime/clock"
	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/gateway"
	"github.com/assayd/assayd/runtime/trial/install"
	"github.com/assayd/assayd/runtime/trial/mixedruns"
	"github.com/assayd/assayd/runtime/trial/tryrounds"
)

// Phase is where a trial is; the diagram is in the package comment.
type Phase string

// Phases in their order.
const (
	Pending Phase = "pending"
	Images  Phase = "images"
	Sane    Phase = "sanity" // the tests on the untouched tree, in single mode
	Create  Phase = "create"
	Await   Phase = "await" // the container is up, the guest has not said hello
	Running Phase = "running"
	Closing Phase = "closing" // the agent is over; the last snapshot is taken
	Grading Phase = "grading" // rounds that are not judged yet
	Private Phase = "private" // the private set says what the best round is worth
	Mixed   Phase = "mixed"   // some hidden tests are changed: does the deciding round know which?
	Verdict Phase = "verdict"
	Cleanup Phase = "cleanup"
	Done    Phase = "done"
)

// Status is a trial's outcome; the statuses are disjoint.
type Status string

// Statuses. Only InfraError and SetupError are tried again.
const (
	Resolved   Status = "resolved"
	Unresolved Status = "unresolved"
	AgentError Status = "agent_error"
	TestError  Status = "test_error"
	SetupError Status = "setup_error"
	SanityFail Status = "sanity_fail"
	InfraError Status = "infra_error"
	Cancelled  Status = "cancelled"
)

// Retryable reports whether another try may help.
func (s Status) Retryable() bool { return s == InfraError || s == SetupError }

// Counts reports whether the status belongs into denominators.
func (s Status) Counts() bool {
	return s == Resolved || s == Unresolved || s == AgentError || s == TestError
}

// Reasons why a trial ended, a closed list.
const (
	ReasonDeadline  = "deadline"
	ReasonIdle      = "idle"
	ReasonAgentExit = "agent_exit"
	ReasonAgent     = "agent_error"
	ReasonDisk      = "disk"
	ReasonOOM       = "oom"
	ReasonGuestLost = "guest_lost"
	ReasonImage     = "image"
	ReasonSetup     = "setup"
	ReasonEngine    = "engine"
	ReasonJudge     = "judge"
	ReasonSanity    = "sanity"
	ReasonCancelled = "cancelled"
	ReasonUSD       = gateway.OverUSD
	ReasonTokens    = gateway.OverTokens
	ReasonProvider  = "provider"
	ReasonStopped   = "stopped" // by a user; also a flag
)

// State is everything a trial knows about itself: stored after each transition.
type State struct {
	ID         string
	Spec       string // address, "run.nightly"
	Generation string // of the spec when the try began; information only
	Execution  int
	Key        string // of the cell
	Cell       Cell
	Try        int // from 1
	Retries    int // tries after the first that the run allows
	Keep       string
	Phase      Phase

	WorkImage  ImageRef
	JudgeImage ImageRef
	RunImage   string            // id, where the run stage of the judge names an image
	GradeImage string            // the same of the grade stage
	Equipped   string            `json:",omitempty"` // id of the work image with what the agent needs; "" = as WorkImage
	Layers     []install.Mounted `json:",omitempty"` // folders of the host with what the agent needs
	Program    string            `json:",omitempty"` // of the agent, in the container; "" = its command says
	Path       []string          `json:",omitempty"` // folders of programs that it calls
	Reference  []string          // names of the reference run, where it is the manifest
	Outcomes   bool              `json:",omitempty"` // a reference run passed, and showed which tests fail as expected
	Expected   []string          `json:",omitempty"` // those tests
	NoManifest bool              `json:",omitempty"` // the number of tests is not fixed: the task has no manifest, and no reference run gave one
	ImageUser  string            // of the work image: who the agent runs as
	Hidden     []string          // hidden paths of the judge image, from the task's own context and files
	Token      string            // bearer token of the trial's judge session
	Workload   container.Workload
	Container  string // id, once created
	DiskHeld   int64  `json:",omitempty"` // what is reserved of the disk for it, in bytes; 0 = all that it may take
	DiskSeen   int64  `json:",omitempty"` // the most that the container was seen to take, in bytes, within a tenth

	// Line is what all times of the try and of its rounds are read from, so that they agree
	// with each other whatever is done to the wall clock. It is renewed after a reboot.
	Line      clock.Timeline
	BegunAt   time.Time `json:",omitzero"` // the try, before there are its images
	ImagesAt  time.Time `json:",omitzero"` // there are its images
	StartedAt time.Time
	Deadline  time.Time // in force; Extension has the declared one where a user has moved it
	EndedAt   time.Time // of the agent
	NextAuto  time.Time
	AutoCount int // auto-eval snapshots taken

	// GuestVersion is that of the protocol which the trial's guest speaks; 0 = 1, or it has not said.
	GuestVersion int                  `json:",omitempty"`
	Extension    *tryrounds.Extension `json:",omitempty"` // nil = the deadline is the declared one

	EventSeq   int // of the last guest event stored
	Resumes    int
	Held       time.Duration `json:",omitempty"` // for which users held requests for models of the agent back
	LastExit   int
	Restarts   int    // of the container from its own layer
	Crashed    bool   // the agent ended with an error
	Outage     string `json:",omitempty"` // what the provider of its model had against us, where that is why it ended
	TimedOut   bool
	Reason     string
	Detail     string // the reason in words
	Failure    Status // set when the trial ends without a verdict of the judge
	Settled    bool   `json:",omitempty"` // another try would fail in the same way
	FinalTaken bool
	FinalRound string // that has the last snapshot's tree: final-1, or an earlier round of the same tree
	Unwanted   bool   // cancelled because no spec wants the cell any more
	Flags      []string

	Mixed *mixedruns.Runs `json:",omitempty"` // of the deciding rounds; nil = not drawn yet, or not wanted

	Result *Finished // the verdict, once there is one

	// Again: a user asked for another try of the ended trial.
	Again bool `json:",omitempty"`
	// Replaced says what has taken the place of the ended trial; nil = it counts.
	Replaced *Superseded `json:",omitempty"`
}

// Superseded are the fields of a trial.superseded record: the trial is in no number any more.
type Superseded struct {
	Trial   string   `json:"trial"`
	By      []string `json:"by"` // trials of the same task, agent and attempt; empty = none
	Because string   `json:"because"`
}

// Superseded reports whether the trial is left out of every number.
func (s State) Superseded() bool { return s.Replaced != nil }

// ImageRef is an image by name and id.
type ImageRef struct {
	Ref string `json:"ref"`
	ID  string `json:"digest"`
}

// Effect is one record that reports a transition; it is stored together with the state.
type Effect struct {
	Type   string
	Fields any // encodes to a JSON object
}
