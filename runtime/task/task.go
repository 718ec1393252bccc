package task

import (
	"strings"
	"time"
)

// Task is one problem.
type Task struct {
	Benchmark   string // name of the benchmark block it belongs to
	Name        string
	Title       string
	Platform    string // "linux/amd64"; "" = the engine host's
	Workdir     string // absolute
	Instruction string
	Network     Network
	Submit      Submit
	Base        *Base  // shared base image; nil when Image is set or the parts name images
	Image       string // reference used as the base as it is
	Repo        *Repo
	Work        Part
	Judge       Judge
	Private     *Private
	Solution    *Solution
	FailToPass  []string
	PassToPass  []string
	Metadata    map[string]string

	// Untrusted: nobody has looked at the commands that build its images, which a model may
	// have written. They are lent no secret.
	Untrusted bool `json:",omitempty"`
}

// Network says what the work container reaches: Mode is "none", "open" or "allow", the
// last with host:port patterns in Allow.
type Network struct {
	Mode  string
	Allow []string
}

// Submit bounds what a submission may hold.
type Submit struct {
	Paths    []string // relative to Workdir; "." is all of it
	Exclude  []string // patterns dropped at any depth
	MaxBytes int64    // of the uncompressed content
	MaxFiles int      // entries
}

// Base is a base image made from another one with packages added.
type Base struct {
	Name        string
	Image       string
	Packages    []string // apt packages
	PipPackages []string
	User        string // raw Dockerfile text right after FROM (sforge user_directive)
	PostInstall string // raw Dockerfile text at the end (sforge post_install_directive)
	Ref         string `json:",omitempty"` // as in Part
}

// Repo is a Git clone cut at a commit: no later object, ref, reflog or remote.
type Repo struct {
	URL    string
	Commit string
}

// Tree names a snapshot of a directory in the blob store: the SHA-256 of an uncompressed
// deterministic tar. The zero Tree is an absent one.
type Tree struct {
	Digest string `json:",omitempty"`
}

// Part is what the work and the judge container have in common.
type Part struct {
	Image   string            // used as it is
	Context Tree              // copied into workdir
	Files   map[string]string // target path (relative to workdir, or absolute) -> content
	Setup   []string          // /bin/sh commands run at build time, as root, in workdir

	// Dockerfile is the text of one that makes the image, with Context as its build context
	// instead of a tree copied into workdir; Files and Setup come after it. "" = there is none.
	Dockerfile string `json:",omitempty"`

	AtHome bool   `json:",omitempty"` // Setup runs in the parent image's own folder, and workdir is made after it
	Ref    string `json:",omitempty"` // the name of the built image where the task's format fixes it: an image that has it is taken as it is
	User   string // "" = the image's
	Env    map[string]string
	CPUs   float64
	Memory int64 // bytes
	PIDs   int64
	Disk   int64 // bytes
}

// Command is argv, or a line for /bin/sh -c when Shell is set; with Bash one for bash, which
// /bin/sh stands in for where an image has none.
type Command struct {
	Shell string   `json:",omitempty"`
	Argv  []string `json:",omitempty"`
	Bash  bool     `json:",omitempty"`
}

// inBash runs its first argument in bash, if it can.
const inBash = `command -v bash >/dev/null && exec bash -c "$1"; exec /bin/sh -c "$1"`

// Empty reports whether there is no command.
func (c Command) Empty() bool { return c.Shell == "" && len(c.Argv) == 0 }

// Args returns the argument vector to execute.
func (c Command) Args() []string {
	switch {
	case c.Shell != "" && c.Bash:
		return []string{"/bin/sh", "-c", inBash, "sh", c.Shell}
	case c.Shell != "":
		return []string{"/bin/sh", "-c", c.Shell}
	}
	return c.Argv
}

// Line is the command as one line of shell.
func (c Command) Line() string {
	if c.Shell != "" {
		return c.Shell
	}
	quoted := make([]string, len(c.Argv))
	for i, a := range c.Argv {
		quoted[i] = a
		if a == "" || strings.ContainsAny(a, " \t\n'\"\\$`;&|<>()*?[]#~!{}") {
			quoted[i] = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}

// Judge says how a submission is judged: by Command, by Stages, by playing Game, or, where
// none of them is set, by the commands that FailToPass and PassToPass of the task hold, each
// run in workdir within Timeout, by the shell that Command names.
type Judge struct {
	Part
	FromBase  bool   `json:",omitempty"` // the judge image is made from the base, without what the work part adds
	Patch     []byte `json:",omitempty"` // unified diff in git's format that puts the hidden tests over workdir; after Context and Files, before Setup
	Command   Command
	Window    *Window `json:",omitempty"` // nil = all that Command prints counts
	Timeout   time.Duration
	Parser    string
	Select    string // pass_rate_first, score_first, valid_then_score
	Direction string // maximize, minimize
	Feedback  string // none, score, names, full
	Protect   []string
	Expect    []string // names of all tests; empty = unknown
	Network   bool
	Exclusive bool
	Decoys    int      `json:",omitempty"` // mixed runs of the rounds that decide, an even number; 0 = none
	Rescale   *Rescale `json:",omitempty"`
	Run       *Stage   `json:",omitempty"` // makes outputs out of a submission, with no answer in reach; nil = not staged
	Grade     *Stage   `json:",omitempty"` // compares them in another container; set together with Run
	Game      string   `json:",omitempty"` // command line of the game server in the judge image
	Port      int      `json:",omitempty"` // where it listens
}

// Tests is the command that runs the tests, which Command may be a script around.
func (j Judge) Tests() Command {
	if j.Window != nil {
		return Command{Shell: j.Window.Command}
	}
	return j.Command
}

// Staged reports whether submitted code and answers are kept in different containers.
func (j Judge) Staged() bool { return j.Run != nil }

// Window is the part of a judge command that counts, where the command does more than run the
// tests. It begins behind the line that holds Mark, and goes on to the end of the output.
type Window struct {
	Mark    string // one line of the output holds it, or two that follow each other (a shell's trace)
	Command string // what runs the tests, a text for a shell
}

// Rescale maps a raw score to 0..100. Each kind has anchors of its own.
type Rescale struct {
	Kind    string
	Anchors map[string]float64
}

// Stage is one half of a judge that keeps code and answers apart.
type Stage struct {
	Image   string // used as it is; "" = the judge image
	Context Tree   // laid over workdir
	Command Command
	Timeout time.Duration
	Outputs []string // of the run stage: paths relative to workdir that the grade stage sees
}

// Private is the private set: run once at the end, never fed back.
type Private struct {
	Context Tree
	Command Command
	Timeout time.Duration
}

// Solution is the reference solution; exactly one field is set.
type Solution struct {
	Context Tree   // laid over workdir
	Patch   []byte // unified diff, git format
	Script  string // for /bin/sh
}
