package workbench

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"time"
)

// Codes of rejections.
const (
	NoTests   = "no_tests" // the pull request has none, and none are to be written
	Turns     = "turns"    // the model's turns are used up
	Timeout   = "timeout"  // its time is
	GaveUp    = "gave_up"  // it says that it cannot be done, or calls no tool any more
	Unproved  = "unproved" // one proposal after the other was refused
	maxTries  = 12         // proposals that are proved, at most
	maxIdle   = 8          // turns in a row without a call that is understood
	maxCalls  = 8          // calls of an answer that are done
	lastTurns = 10         // from when on the model is told how many are left
)

// Job is what is to be found out about one pull request.
type Job struct {
	Repo      string // owner/name
	Language  string // as GitHub calls it
	Title     string // of the pull request
	Statement string // of the task
	Source    []byte // patch without tests
	Tests     []byte // patch of the tests; may be empty
	TestFiles []string

	MaxTurns       int           // answers of the model
	CommandTimeout time.Duration // of one command
	Timeout        time.Duration // of all answers and commands together; proving is not counted
	Spent          *Spent        // of these by runs for the same pull request before, to which this one adds; nil = nothing

	Image   string // of the room, for the model to know
	Workdir string // absolute; the repository before the change
	Hint    *Environment
	Write   bool // tests are to be written

	// Where the pull request has tests that are too few, what they leave untested, in words: others
	// are to be written beside them. The hint is then the environment in which that was found.
	Uncovered []string
}

// Spent is what has been used of the bounds of a job.
type Spent struct {
	Turns  int
	Asked  time.Duration // by the model, and by waiting for it
	Worked time.Duration // by its commands
}

// Environment says how a repository is installed and tested.
type Environment struct {
	Setup  []string // commands at build time: as root, with a network, each in a shell of its own
	Test   string   // command line of the tests, for /bin/sh in the work directory
	Parser string   // of its output, as runtime/judge/parser calls it
}

// Proposal is what a model submits.
type Proposal struct {
	Environment
	Files map[string]string // tests that it wrote: path below the work directory -> content
}

// Try has a proposal built and proved. What is wrong with it comes back as words for the
// model, wrong != ""; err is trouble, or a rejection that no other proposal could mend.
type Try func(ctx context.Context, p Proposal) (wrong string, err error)

// Ask has the model answer a conversation; turn counts from 0. It must not change what it is
// given. After a crash, the same turn may get the answer that it got before.
type Ask func(ctx context.Context, turn int, messages []Message, tools []Tool) (Answer, error)

// ErrFile is wrapped by what a Room says of a file that cannot be read or written, as against
// trouble with the room itself.
var ErrFile = errors.New("no such regular file, or not one that can be read or written")

// Room is the container that a model works in. Commands run in the work directory; paths of
// files are absolute.
type Room interface {
	// Exec runs a command and returns what it printed on both its outputs: bounded, the
	// middle is left out. One that takes longer than timeout is ended, with all it started.
	Exec(ctx context.Context, argv []string, timeout time.Duration) (exit int, output []byte, timedOut bool, err error)
	// Read returns a regular file of at most MaxFile bytes; else ErrFile.
	Read(ctx context.Context, name string) ([]byte, error)
	// Write makes or replaces a regular file, with the folders that it is in; else ErrFile.
	Write(ctx context.Context, name string, content []byte) error
}

// MaxFile is the most that is read of a file, in bytes.
const MaxFile = 1 << 20

// check says what a caller did wrong.
func (j Job) check() error {
	switch {
	case !path.IsAbs(j.Workdir) || path.Clean(j.Workdir) != j.Workdir || j.Workdir == "/" || strings.ContainsRune(j.Workdir, 0):
		return fmt.Errorf("the work directory %q is no absolute path of a folder of its own", j.Workdir)
	case j.MaxTurns <= 0 || j.CommandTimeout <= 0 || j.Timeout <= 0:
		return fmt.Errorf("turns and times need bounds: %d turns, %s a command, %s in all", j.MaxTurns, j.CommandTimeout, j.Timeout)
	}
	return nil
}
