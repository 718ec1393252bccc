package protocol

import (
	"time"

	"github.com/assayd/assayd/runtime/truncate"
)

// Version of the protocol between guest and daemon. A daemon also speaks the one before,
// because it is upgraded while guests run.
//
// Since version 2 a guest says in its heartbeats which deadline it knows, and takes a later one.
const Version = 2

// MovesDeadlines reports whether a guest that speaks a version takes a later deadline.
func MovesDeadlines(version int) bool { return version >= 2 }

// Where things are inside a work container.
const (
	// MountDir is the trial's folder: mounted read-only, for this trial alone.
	MountDir = "/run/assayd"
	// ConfigFile holds the guest's Config as JSON.
	ConfigFile = MountDir + "/guest.json"
	// PromptFile holds the agent's prompt.
	PromptFile = MountDir + "/prompt.md"
	// GuestSocket is dialled by the guest to reach the daemon; mode 0600.
	GuestSocket = MountDir + "/guest.sock"
	// JudgeSocket is where the relay passes the agent's requests to; mode 0666.
	JudgeSocket = MountDir + "/judge.sock"
	// BinDir holds the static program under its names, mounted read-only.
	BinDir = "/.assayd/bin"
	// Program is the guest in BinDir.
	Program = BinDir + "/assay-guest"
	// StateDir is the guest's root-only folder in the container's own layer.
	StateDir = "/.assayd/state"
	// RelayAddr is where the relay listens for the agent.
	RelayAddr = "127.0.0.1:7433"
	// StopAddr is where the guest answers an agent that wants to stop, inside the container.
	StopAddr = "127.0.0.1:7434"
	// AgentDir is where an agent's dir is mounted read-only.
	AgentDir = "/agent"
)

// Names under which the static program is installed. The program looks at its own name
// and first argument: assay-guest run (supervise a trial), assay-guest hold (do nothing
// but reap, for judge containers), assay-guest dial (reach a server in a judge container),
// assay-guest stop (the hook that an agent's program asks before it stops),
// assay-guest remove and sweep (paths and processes of a judge container), assay-guest oracle and nop (the built-in agents).
const (
	NameGuest        = "assay-guest"
	NameSubmit       = "assay-submit"
	NameSubmitSForge = "sforge-submit"
)

// Config tells the guest what to do; the daemon writes it before the container is made.
// It holds no secret.
type Config struct {
	Version    int
	Trial      string
	Command    []string          // argv; each element is a text/template over Vars and TimeLeft
	Resume     []string          // the same; empty = the agent is never started again
	Env        map[string]string // for the agent, in addition to the container's; the guest adds ASSAYD_DEADLINE, HOME, USER
	Defaults   map[string]string `json:",omitempty"` // for the agent, where neither the container nor Env says anything
	User       string            // "" = root; name, uid, or either with :group
	Workdir    string
	Vars       map[string]string // PromptFile, Prompt, Workdir, Model, Effort
	Policy     ResumePolicy
	Path       []string `json:",omitempty"` // folders that are searched for programs after those of PATH
	WatchPaths []string // relative to Workdir: what a change of the tree means for idle; globs allowed, .git never counts
	Kept       bool     `json:",omitempty"` // the trial is over, and its container stays for a look: nothing is run, nothing is asked
	LogBytes   int64    // kept in the container at most; older output is dropped; 0 = 16 MiB
}

// ResumePolicy says when an agent that ended is started again.
type ResumePolicy struct {
	Max        int           // starts after the first; 0 = never
	MinRuntime time.Duration // a run shorter than this counts as a systematic failure when its exit code is not 0
	Backoff    time.Duration // first pause; doubles with each short run, back to this after a long one
	MaxBackoff time.Duration
	Idle       int // end after that many consecutive ends without a change of the tree; 0 = go on
}

// Hello is the guest's first request after each start of the container:
// POST /v1/hello on GuestSocket.
type Hello struct {
	Version  int
	Trial    string
	Boot     string    // random, new at each start of the container
	Starts   int       // starts of the agent so far, from the layer's state
	Deadline time.Time // as far as the guest knows it
	Ended    string    // reason, when the agent has ended for good
}

// Welcome answers Hello. The guest starts the agent only after it.
type Welcome struct {
	Version   int
	Deadline  time.Time // absolute; an Order may tell a later one
	Now       time.Time // by the clock that Deadline is of; zero, of an earlier daemon = the guest's own
	End       bool      // do not start anything; kill all and wait to be stopped
	LogNext   int64     // offset from which the daemon wants the log
	EventNext int       // sequence number of the first event the daemon has not stored
}

// Event is something that happened to the agent: POST /v1/event. Events are numbered from
// 1, kept in StateDir and sent again until the daemon has answered 204.
type Event struct {
	Seq      int
	Time     time.Time // by the clock of Welcome.Now; of trouble, the guest's own
	Type     string    // one of the constants below
	ExitCode int       // exited: 128+n for signal n
	Count    int       // started: how many starts before this one
	Runtime  time.Duration
	Reason   string // ended: one of the Ended constants; started again: why; exited: how, in words
	Detail   string
}

// MaxDetail bounds the Detail of an Event, in bytes.
const MaxDetail = 4 << 10

// Clipped returns the event with its Detail cut to MaxDetail bytes of valid UTF-8.
func (e Event) Clipped() Event {
	e.Detail = truncate.Valid(e.Detail, MaxDetail)
	return e
}

// Types of Event.
const (
	EventStarted = "started" // the agent was started (Count 0) or resumed (Count 1, …)
	EventExited  = "exited"  // the agent's process ended
	EventEnded   = "ended"   // and will not be started again; Reason says why; the last one sent
	EventTrouble = "trouble" // Reason: one of the Trouble constants; Detail in words
)

// Reasons of EventEnded.
const (
	EndedExit     = "agent_exit"  // exit code 0, or no resume left
	EndedError    = "agent_error" // systematic failure or a command that cannot be started
	EndedIdle     = "idle"
	EndedDeadline = "deadline"
	EndedOrdered  = "ordered" // the daemon said so and knows why
)

// Reasons of EventStarted with a Count above 0.
const (
	AgainAfterExit    = "agent_exit"        // the agent ended and its policy allows another run
	AgainAfterRestart = "container_restart" // the container was stopped under the agent
)

// Reasons of EventTrouble.
const (
	TroubleLogTruncated = "log_truncated" // output was dropped before the daemon had it
	TroubleZombies      = "zombies"       // the agent does not wait for its children
	TroubleSpawn        = "spawn"         // no process can be made; tried again
	TroubleState        = "state"         // the guest's memory was unreadable or cannot be kept
	TroubleUnkillable   = "unkillable"    // processes outlived SIGKILL
	TroubleOOM          = "oom"           // the kernel killed a process for want of memory
	TroublePIDs         = "pids"          // a process could not be made: there are as many as may be
)

var troubles = []string{TroubleLogTruncated, TroubleZombies, TroubleSpawn, TroubleState, TroubleUnkillable, TroubleOOM, TroublePIDs}

// LogAck answers POST /v1/log?offset=N, whose body is raw bytes of the agent's output, with
// the next offset that is wanted, which may be lower than what was sent. An offset above
// what the daemon has means that older output was dropped in the container.
type LogAck struct {
	Next int64
}

// Beat is the guest's heartbeat: POST /v1/poll, answered after at most 20 seconds, or at
// once when the daemon wants something.
type Beat struct {
	Boot    string
	Running bool
	PIDs    int
	Zombies int
	// Deadline is the one that the guest knows: it is told a later one.
	Deadline time.Time
}

// Order answers a Beat.
type Order struct {
	End      bool      // kill the agent and everything it left behind, report ended, then wait
	Deadline time.Time `json:",omitzero"` // later than the one that the guest knows; zero = that stays
}
