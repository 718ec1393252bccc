package workbench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// dirRoom is a folder of this machine. What is written below /tmp is kept beside it.
type dirRoom struct{ dir, tmp string }

func newRoom(t testing.TB, files map[string]string) dirRoom {
	t.Helper()
	r := dirRoom{t.TempDir(), t.TempDir()}
	for name, content := range files {
		if err := r.Write(context.Background(), filepath.Join(r.dir, name), []byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

func (r dirRoom) at(name string) string {
	if rest, ok := strings.CutPrefix(name, "/tmp/pull/"); ok {
		return filepath.Join(r.tmp, rest)
	}
	return name
}

func (r dirRoom) Exec(ctx context.Context, argv []string, timeout time.Duration) (int, []byte, bool, error) {
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	c := exec.CommandContext(limited, argv[0], argv[1:]...)
	c.Dir, c.SysProcAttr, c.WaitDelay = r.dir, &syscall.SysProcAttr{Setpgid: true}, time.Minute
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
	out, err := c.CombinedOutput()
	if ctx.Err() != nil {
		return 0, nil, false, ctx.Err()
	}
	if _, ended := errors.AsType[*exec.ExitError](err); err != nil && !ended {
		return 0, nil, false, err
	}
	return c.ProcessState.ExitCode(), out, limited.Err() != nil, nil
}

func (r dirRoom) Read(_ context.Context, name string) ([]byte, error) {
	info, err := os.Stat(r.at(name))
	if err != nil || !info.Mode().IsRegular() {
		return nil, fmt.Errorf("read %s: %w", filepath.Base(name), ErrFile)
	}
	return os.ReadFile(r.at(name))
}

func (r dirRoom) Write(_ context.Context, name string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(r.at(name)), 0o755); err != nil {
		return fmt.Errorf("write %s: %w", filepath.Base(name), ErrFile)
	}
	if err := os.WriteFile(r.at(name), content, 0o644); err != nil {
		return fmt.Errorf("write %s: %w", filepath.Base(name), ErrFile)
	}
	return nil
}

// memoryRoom has no programs: a command is answered by a function, and nothing is there but
// what was written.
type memoryRoom struct {
	files map[string]string
	exec  func(ctx context.Context, argv []string, timeout time.Duration) (int, []byte, bool, error)
}

func newMemory() memoryRoom { return memoryRoom{files: map[string]string{}} }

func (r memoryRoom) Exec(ctx context.Context, argv []string, timeout time.Duration) (int, []byte, bool, error) {
	if r.exec != nil {
		return r.exec(ctx, argv, timeout)
	}
	return len(argv), fmt.Appendf(nil, "%q", argv), false, nil
}

func (r memoryRoom) Read(_ context.Context, name string) ([]byte, error) {
	content, ok := r.files[name]
	if !ok {
		return nil, fmt.Errorf("read %s: %w", name, ErrFile)
	}
	return []byte(content), nil
}

func (r memoryRoom) Write(_ context.Context, name string, content []byte) error {
	r.files[name] = string(content)
	return nil
}

// script answers turn by turn, and then with nothing but looks around. It keeps what it was
// shown.
type script struct {
	answers []Answer
	err     error // after the answers
	seen    [][]Message
	tools   []Tool
}

func (s *script) ask(_ context.Context, turn int, messages []Message, tools []Tool) (Answer, error) {
	if turn != len(s.seen) {
		return Answer{}, fmt.Errorf("turn %d comes after %d turns", turn, len(s.seen))
	}
	s.seen, s.tools = append(s.seen, messages), tools
	switch {
	case turn < len(s.answers):
		return s.answers[turn], nil
	case s.err != nil:
		return Answer{}, s.err
	}
	return says(called("list_dir", map[string]any{"path": "."})), nil
}

// last is the end of what was shown in a turn.
func (s *script) last(turn int) string {
	messages := s.seen[turn]
	return messages[len(messages)-1].Content
}

func says(calls ...Call) Answer { return Answer{Calls: calls} }

func called(name string, args any) Call {
	raw, err := json.Marshal(args)
	if err != nil {
		panic(err)
	}
	return Call{ID: "c-" + name, Name: name, Arguments: raw}
}

func submitting(command string, install ...string) Call {
	return called("submit_tests", map[string]any{"install": install, "test_command": command})
}

const (
	sourcePatch = "diff --git a/src/x.py b/src/x.py\n--- a/src/x.py\n+++ b/src/x.py\n@@ -1 +1 @@\n-x = 1\n+x = 2\n"
	testPatch   = "diff --git a/tests/test_x.py b/tests/test_x.py\n--- a/tests/test_x.py\n+++ b/tests/test_x.py\n@@ -1 +1 @@\n-assert x == 1\n+assert x == 2\n"
)

func job(workdir string) Job {
	return Job{
		Repo: "o/r", Language: "Python", Title: "Make x two", Statement: "x must be two.", Source: []byte(sourcePatch), Tests: []byte(testPatch),
		TestFiles: []string{"tests/test_x.py"}, MaxTurns: 20, CommandTimeout: time.Minute, Timeout: time.Hour, Image: "python:1", Workdir: workdir,
	}
}

// proved accepts every proposal.
func proved(context.Context, Proposal) (string, error) { return "", nil }
