package image

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/truncate"
)

// SetupError says that a command of a build did not do its work.
type SetupError struct {
	Role      string // of the image: container.RoleBase, RoleWork or RoleJudge
	Attribute string // what in the spec asked for it: "setup", "packages", "user_directive", …
	Index     int    // in the list that Attribute is; line number, from 1, in directives
	Command   string // "" = it is no list of commands, and Reason says it all
	ExitCode  int    // meaningful when Reason is nil
	Output    string // the last lines of what it said, without control characters
	Reason    error  // why it was ended, when it did not end by itself
}

// killedCode is how a shell tells of a command that SIGKILL ended, as the kernel does without memory.
const killedCode = 137

// Error shows the command, how it ended and its last lines.
func (e *SetupError) Error() string {
	if e.Command == "" && e.Reason != nil {
		return fmt.Sprintf("%s: %v", e.Attribute, e.Reason)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s[%d] ", e.Attribute, e.Index)
	if e.Reason != nil {
		fmt.Fprintf(&b, "was ended: %v", e.Reason)
	} else {
		fmt.Fprintf(&b, "ended with exit code %d", e.ExitCode)
		if e.ExitCode == killedCode {
			fmt.Fprintf(&b, " (it was killed; a build may use %.0f %% of the machine's memory)", buildMemory*100)
		}
	}
	command, _, more := strings.Cut(strings.TrimSpace(e.Command), "\n")
	if more {
		command += " …"
	}
	fmt.Fprintf(&b, ": %s", command)
	if e.Output != "" {
		b.WriteString("\n  | " + strings.ReplaceAll(e.Output, "\n", "\n  | "))
	}
	return b.String()
}

// Unwrap gives the reason, if there is one.
func (e *SetupError) Unwrap() error { return e.Reason }

// Why a command is ended.
var (
	errSilent  = errors.New("it gave no output for too long")
	errTooLong = errors.New("it took too long")
)

// command is one command of a build.
type command struct {
	argv      []string
	env       map[string]string
	user      string
	dir       string
	attribute string
	index     int
	text      string    // as the spec has it
	stdin     io.Reader // nil = empty
	secrets   bool      // whether it is lent those of builds
}

// setup runs the setup commands of the task, as root, in workdir or the parent's own folder.
func (s *buildStep) setup(ctx context.Context) error {
	env := merge(map[string]string{
		// Root works in folders that belong to the image's user here, which git refuses.
		"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*",
	}, s.recipe.Env)
	dir := s.recipe.Workdir
	if s.recipe.AtHome {
		dir = cmp.Or(s.home, "/")
	}
	for i, line := range s.recipe.Setup {
		err := s.run(ctx, command{
			argv: []string{"/bin/sh", "-ec", line}, env: env, user: rootUser, dir: dir,
			attribute: "setup", index: i, text: line, secrets: !s.recipe.Untrusted,
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// packages installs those of the distribution.
func (s *buildStep) packages(ctx context.Context) error {
	if len(s.recipe.Packages) == 0 {
		return nil
	}
	if err := noFlags("packages", s.recipe.Packages); err != nil {
		return err
	}
	undo, err := s.throughMirror(ctx)
	if err != nil {
		return err
	}
	install := slices.Concat([]string{"apt-get", "install", "-y", "--no-install-recommends"}, s.recipe.Packages)
	for _, argv := range [][]string{{"apt-get", "update"}, install, {"apt-get", "clean"}} {
		if err := s.runArgv(ctx, "packages", argv); err != nil {
			return err
		}
	}
	return undo(ctx)
}

// pipPackages installs those of Python, into the system's own Python.
func (s *buildStep) pipPackages(ctx context.Context) error {
	if len(s.recipe.PipPackages) == 0 {
		return nil
	}
	if err := noFlags("pip_packages", s.recipe.PipPackages); err != nil {
		return err
	}
	argv := slices.Concat([]string{"python3", "-m", "pip", "install", "--no-cache-dir"}, s.recipe.PipPackages)
	return s.runArgv(ctx, "pip_packages", argv)
}

// noFlags refuses names that a package manager would take for an option.
func noFlags(attribute string, names []string) error {
	for i, n := range names {
		if n == "" || strings.HasPrefix(n, "-") || strings.ContainsFunc(n, unicode.IsSpace) {
			return fmt.Errorf("%s[%d]: %q is not the name of a package", attribute, i, n)
		}
	}
	return nil
}

func (s *buildStep) runArgv(ctx context.Context, attribute string, argv []string) error {
	return s.run(ctx, command{
		argv: argv, user: rootUser, dir: "/", attribute: attribute, text: strings.Join(argv, " "),
		env: map[string]string{"DEBIAN_FRONTEND": "noninteractive", "PIP_BREAK_SYSTEM_PACKAGES": "1"},
	})
}

// run executes one command and bounds it in time and output.
func (s *buildStep) run(ctx context.Context, c command) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	silence := time.AfterFunc(s.b.silence, func() { cancel(errSilent) })
	defer silence.Stop()
	defer time.AfterFunc(s.b.runtime, func() { cancel(errTooLong) }).Stop()

	out := &tail{hide: s.b.opts.BuildSecrets.hide, heard: func() { silence.Reset(s.b.silence) }}
	code, err := s.b.exec.Exec(ctx, s.id, container.Command{
		Argv: c.argv, Env: s.lend(c.env, c.secrets), User: c.user, Workdir: c.dir, Stdin: c.stdin, Stdout: out, Stderr: out,
	})
	failed := &SetupError{
		Role: s.recipe.Role, Attribute: c.attribute, Index: c.index,
		Command: c.text, ExitCode: code, Output: out.lines(),
	}
	switch cause := context.Cause(ctx); {
	case err != nil && endsCommand(cause):
		failed.Reason = cause
		return failed
	case errors.Is(err, container.ErrCommandNotFound):
		return fmt.Errorf("%s needs %s: %w", c.attribute, c.argv[0], err)
	case err != nil:
		return fmt.Errorf("run %s[%d]: %w", c.attribute, c.index, err)
	case code != 0:
		return failed
	}
	return nil
}

// endsCommand reports whether that is why a command was ended, and not why a build was.
func endsCommand(cause error) bool {
	_, full := errors.AsType[*container.DiskError](cause)
	return full || errors.Is(cause, errSilent) || errors.Is(cause, errTooLong)
}

// Bounds of what is kept of a command's output.
const (
	tailBytes = 64 << 10
	tailLines = 40
	lineBytes = 300
)

// colours are what programs send to terminals besides text.
var colours = regexp.MustCompile(`\x1b\[[0-9;?]*[A-Za-z]`)

// tail keeps the end of what is written to it, from any number of goroutines.
type tail struct {
	mu    sync.Mutex
	buf   []byte
	over  bool                // more was written than is kept
	heard func()              // called at each write
	hide  func([]byte) []byte // takes secrets out; nil = there are none
}

func (t *tail) Write(p []byte) (int, error) {
	t.heard()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.over = t.over || len(t.buf)+len(p) > tailBytes
	t.buf = append(t.buf, p[max(0, len(p)-tailBytes):]...)
	if over := len(t.buf) - tailBytes; over > 0 {
		t.buf = append(t.buf[:0], t.buf[over:]...)
	}
	return len(p), nil
}

// shown is what is kept without secrets, nor the end of one that was cut at the front.
func (t *tail) shown() []byte {
	if t.hide == nil {
		return t.buf
	}
	kept := t.buf
	if _, rest, ok := bytes.Cut(kept, []byte("\n")); t.over && ok {
		kept = rest
	} else if t.over {
		kept = kept[len(kept)/2:]
	}
	return t.hide(kept)
}

// lines returns the last lines, each bounded, fit for a terminal: the output is not ours.
func (t *tail) lines() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || unicode.IsPrint(r) {
			return r
		}
		return -1
	}, strings.ToValidUTF8(strings.ReplaceAll(string(colours.ReplaceAll(t.shown(), nil)), "\r", "\n"), "?"))
	var kept []string
	for line := range strings.SplitSeq(text, "\n") {
		if line = strings.TrimRightFunc(line, unicode.IsSpace); line == "" {
			continue
		}
		kept = append(kept, truncate.Marked(line, lineBytes, "…"))
	}
	return strings.Join(kept[max(0, len(kept)-tailLines):], "\n")
}
