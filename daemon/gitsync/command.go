package gitsync

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// Bounds of one Git command. A transfer that crawls ends sooner, by the configuration.
const (
	localTime  = 10 * time.Minute
	remoteTime = time.Hour
	askTime    = time.Minute
	maxOutput  = 256 << 20
	maxSaid    = 4 << 10
)

// git runs the host's Git on one repository.
type git struct {
	env  []string
	mask func(string) string // takes secrets out of what Git says
}

// commandError is a Git command that failed.
type commandError struct {
	command string
	err     error
	said    string // the end of its standard error
}

func (e *commandError) Error() string {
	if e.said == "" {
		return fmt.Sprintf("git %s: %v", e.command, e.err)
	}
	return fmt.Sprintf("git %s: %s", e.command, e.said)
}

func (e *commandError) Unwrap() error { return e.err }

// said reports whether Git failed with one of these words.
func said(err error, words ...string) bool {
	failed, ok := errors.AsType[*commandError](err)
	for _, w := range words {
		if ok && strings.Contains(failed.said, w) {
			return true
		}
	}
	return false
}

// with returns the same with more in the environment.
func (g git) with(env ...string) git {
	g.env = append(g.env[:len(g.env):len(g.env)], env...)
	return g
}

// run executes a local command and returns what it printed.
func (g git) run(ctx context.Context, args ...string) (string, error) {
	return g.feed(ctx, localTime, nil, args...)
}

// feed executes a command that reads from in and may take so long.
func (g git) feed(ctx context.Context, within time.Duration, in io.Reader, args ...string) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, within, fmt.Errorf("it took longer than %s", within))
	defer cancel()
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Env, cmd.Stdin = g.env, in
	out, complaint := &bounded{cancel: cancel}, &tail{}
	cmd.Stdout, cmd.Stderr = out, complaint
	// Git has children, which must not outlive it, and it must not outlive this process: the
	// next one would find it at work. The kernel takes the end of this thread for that.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 10 * time.Second
	err := cmd.Run()
	switch {
	case err == nil:
		return out.String(), nil
	case errors.Is(err, exec.ErrNotFound):
		return "", errors.New("git is not installed on this machine, and specs from a repository need it")
	case out.full:
		return "", &commandError{args[0], fmt.Errorf("it printed more than %d bytes", maxOutput), ""}
	case ctx.Err() != nil:
		return "", &commandError{args[0], context.Cause(ctx), ""}
	}
	return "", &commandError{args[0], err, g.mask(complaint.lines())}
}

// bounded keeps what is written to it, and ends the command when that is too much.
type bounded struct {
	bytes.Buffer
	full   bool
	cancel func()
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.Len()+len(p) > maxOutput {
		b.full = true
		b.cancel()
		return len(p), nil
	}
	return b.Buffer.Write(p)
}

// tail keeps the end of what is written to it.
type tail struct{ text []byte }

func (t *tail) Write(p []byte) (int, error) {
	t.text = append(t.text, p...)
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

// passedOn is what Git needs of an environment: where programs are and how the network is
// reached.
var passedOn = regexp.MustCompile(`(?i)^(PATH|TMPDIR|(https?|all|no)_proxy|SSL_CERT_(FILE|DIR)|GIT_SSL_CAINFO|GIT_EXEC_PATH|SSH_AUTH_SOCK)=`)

func passed(environ []string) []string {
	var env []string
	for _, e := range environ {
		if passedOn.MatchString(e) {
			env = append(env, e)
		}
	}
	return env
}

// quoted is a word for the shell by which Git starts ssh and its credential helpers.
func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// configuration is all that Git sees of it; file says whether repositories on this machine
// may be read.
func configuration(file bool) string {
	text := `[safe]
	directory = *
[protocol]
	allow = never
[protocol "https"]
	allow = always
[protocol "http"]
	allow = always
[protocol "ssh"]
	allow = always
[protocol "git"]
	allow = always
[core]
	hooksPath = /dev/null
	fsmonitor = false
	logAllRefUpdates = false
	autocrlf = false
	attributesFile = /dev/null
	excludesFile = /dev/null
[http]
	lowSpeedLimit = 1000
	lowSpeedTime = 60
[submodule]
	recurse = false
[gc]
	auto = 2000
	autoPackLimit = 30
	autoDetach = false
	pruneExpire = now
[maintenance]
	auto = false
[advice]
	detachedHead = false
[user]
	name = assayd
	email = assayd@localhost
	useConfigOnly = true
`
	if file {
		text += "[protocol \"file\"]\n\tallow = always\n"
	}
	return text
}

// environment is that of every command. dir holds what belongs to it.
func environment(dir string) []string {
	return append(passed(os.Environ()),
		"HOME="+dir, "XDG_CONFIG_HOME="+dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+dir+"/"+configName, "GIT_ATTR_NOSYSTEM=1",
		"GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=/bin/false", "SSH_ASKPASS=/bin/false", "SSH_ASKPASS_REQUIRE=never",
		"GIT_NO_REPLACE_OBJECTS=1", "GIT_DIR="+dir+"/"+repoName, "LC_ALL=C")
}
