package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/assayd/assayd/runtime/kernel"
)

// Bounds of a command that is given none.
const (
	defaultTime   = 10 * time.Minute
	defaultOutput = 256 << 20
)

// maxSaid is how much is kept of the end of what a command complains of.
const maxSaid = 4 << 10

// ErrMissing says that there is no Git to run.
var ErrMissing = errors.New("git is not installed on this machine")

// ErrTooMuch says that a command was ended because it printed more than it may.
var ErrTooMuch = errors.New("it printed more")

var fullHash = regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`)

// IsFullHash reports whether a name is that of a commit in full; anything shorter may mean another one
// tomorrow, and may be a branch or a tag.
func IsFullHash(name string) bool { return fullHash.MatchString(name) }

// Git runs commands. It is a value: With, In, Within, Printing, Masking and Confined return
// another one.
type Git struct {
	env    []string
	dir    string
	within time.Duration
	most   int64
	memory uint64
	mask   func(string) string
}

// With adds to the environment, as "NAME=value"; the last one of a name holds.
func (g Git) With(env ...string) Git {
	g.env = append(g.env[:len(g.env):len(g.env)], env...)
	return g
}

// In has commands run in a folder.
func (g Git) In(dir string) Git { g.dir = dir; return g }

// Within says how long a command may take, instead of ten minutes.
func (g Git) Within(d time.Duration) Git { g.within = d; return g }

// Printing says how many bytes a command may print that are kept, instead of 256 MiB.
func (g Git) Printing(most int64) Git { g.most = most; return g }

// Masking has secrets taken out of what Git says when it fails.
func (g Git) Masking(mask func(string) string) Git { g.mask = mask; return g }

// Confined bounds the memory that a process may map, in bytes, files included. The bound
// is there before the first byte of its input.
func (g Git) Confined(memory uint64) Git { g.memory = memory; return g }

// Environment is that of a command.
func (g Git) Environment() []string { return g.env }

// Run executes a command and returns what it printed.
func (g Git) Run(ctx context.Context, args ...string) (string, error) {
	return g.Feed(ctx, nil, args...)
}

// Feed is Run of a command that reads from in.
func (g Git) Feed(ctx context.Context, in io.Reader, args ...string) (string, error) {
	var out bytes.Buffer
	err := g.Pipe(ctx, in, &out, args...)
	return out.String(), err
}

// Pipe executes a command that reads from in and writes to out, nil = nothing. When it
// fails otherwise than by its context, Git is not there (ErrMissing), or it said so in an
// *Error.
func (g Git) Pipe(ctx context.Context, in io.Reader, out io.Writer, args ...string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, g.within, fmt.Errorf("it took longer than %s", g.within))
	defer cancel()
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Env, cmd.Dir = g.env, g.dir
	started := make(chan struct{})
	if in != nil {
		cmd.Stdin = late{in, started}
	}
	kept, complaint := &bounded{to: out, room: g.most, cancel: cancel}, &tail{}
	if out != nil {
		cmd.Stdout = kept
	}
	cmd.Stderr = complaint
	// Git has children, which must not outlive it, and it must not outlive this process: the
	// next one would find it at work. The kernel takes the end of this thread for that.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	kernel.EndWithThread(cmd.SysProcAttr)
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 10 * time.Second
	err := cmd.Start()
	if err == nil {
		err = g.confine(cmd.Process.Pid)
		if err != nil {
			cancel()
		}
		close(started)
		if err = errors.Join(err, cmd.Wait()); err != nil {
			_ = cmd.Cancel() // its children, when somebody else has ended it
		}
	}
	switch {
	case kept.full: // also of one that was over before it could be ended
		return &Error{Command: args[0], Err: fmt.Errorf("%w than %d bytes", ErrTooMuch, g.most)}
	case err == nil:
		return nil
	case errors.Is(err, exec.ErrNotFound):
		return ErrMissing
	case ctx.Err() != nil:
		return &Error{Command: args[0], Err: context.Cause(ctx)}
	}
	said := complaint.lines()
	if g.mask != nil {
		said = g.mask(said)
	}
	return &Error{Command: args[0], Err: err, Text: said}
}

// confine bounds the memory of a process that has read nothing yet.
func (g Git) confine(pid int) error {
	if g.memory == 0 {
		return nil
	}
	return kernel.LimitMemory(pid, g.memory)
}

// late is a reader from which nothing comes before a channel is closed.
type late struct {
	io.Reader
	from <-chan struct{}
}

func (l late) Read(p []byte) (int, error) {
	<-l.from
	return l.Reader.Read(p)
}

// Error is a command that failed.
type Error struct {
	Command string // "fetch"
	Err     error  // how it ended
	Text    string // the end of what it said, in one line and without secrets
}

// Error shows what Git said, or how it ended.
func (e *Error) Error() string {
	if e.Text == "" {
		return fmt.Sprintf("git %s: %v", e.Command, e.Err)
	}
	return fmt.Sprintf("git %s: %s", e.Command, e.Text)
}

// Unwrap gives how it ended.
func (e *Error) Unwrap() error { return e.Err }

// Said reports whether Git failed with one of these words.
func Said(err error, words ...string) bool {
	failed, ok := errors.AsType[*Error](err)
	for _, w := range words {
		if ok && strings.Contains(failed.Text, w) {
			return true
		}
	}
	return false
}

// Code is the exit code of a command that failed by itself; -1 when it was ended, or did not
// fail at all.
func Code(err error) int {
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		return failed.ExitCode()
	}
	return -1
}

// Killed reports whether a command was ended by SIGKILL: by the kernel that ran out of
// memory, or by a person, or with its context.
func Killed(err error) bool {
	failed, ok := errors.AsType[*exec.ExitError](err)
	if !ok {
		return false
	}
	status, ok := failed.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGKILL
}

// bounded passes on what is written to it, and ends the command when that is too much.
type bounded struct {
	to     io.Writer
	room   int64
	full   bool
	cancel func()
}

func (b *bounded) Write(p []byte) (int, error) {
	if int64(len(p)) > b.room {
		b.full = true
		b.cancel()
		return len(p), nil
	}
	b.room -= int64(len(p))
	return b.to.Write(p)
}

// tail keeps the end of what is written to it.
type tail struct{ text []byte }

func (t *tail) Write(p []byte) (int, error) {
	t.text = append(t.text, p[max(0, len(p)-maxSaid):]...)
	t.text = t.text[max(0, len(t.text)-maxSaid):]
	return len(p), nil
}

// lines is the text in one line, without Git's advice.
func (t *tail) lines() string {
	var kept []string
	for line := range strings.Lines(string(t.text)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "hint:") {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "; ")
}
