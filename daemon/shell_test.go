//go:build linux

package daemon_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/assayd/assayd/runtime/container"
)

// enter runs assayd shell with these commands as its input.
func (w *fixture) enter(commands string, args ...string) (stdout, stderr string, code int) {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, slices.Concat([]string{"shell", "--state", w.state}, args)...)
	var out, problems bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(commands), &out, &problems
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) || ctx.Err() != nil {
		w.Fatalf("assayd shell: %v", errors.Join(err, ctx.Err()))
	}
	return out.String(), problems.String(), cmd.ProcessState.ExitCode()
}

// phases are those of the world's containers, by role.
func (w *fixture) phases() map[string]container.Phase {
	w.Helper()
	found, err := w.engine.Observe(w.Context(), w.owner)
	if err != nil {
		w.Fatal(err)
	}
	phases := map[string]container.Phase{}
	for _, c := range found {
		role := c.Labels[container.LabelRole]
		if phases[role] != "" {
			w.Errorf("there are two %s containers", role)
		}
		phases[role] = c.Phase
	}
	return phases
}

// stopped wants both containers of a trial to be there, and none to run.
func (w *fixture) stopped() {
	w.Helper()
	if p := w.phases(); len(p) != 2 || p[container.RoleWork] != container.PhaseExited || p[container.RoleJudge] != container.PhaseExited {
		w.Errorf("the containers that are kept: %v", p)
	}
}

// TestAKeptTrialCanBeEntered: its work and its hidden tests are there when the daemon has gone,
// the agent is not, and gc leaves nothing.
func TestAKeptTrialCanBeEntered(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.write("r.hcl", w.benchmark()+w.agent("waiter", waiter)+w.run("look", []string{`agent "waiter" {}`}, `timeout = "5m"`, `auto_eval = "0s"`, `keep = "always"`))
	w.serve()
	trial := w.recorded("r.run.look.jsonl", "the trial's start", func(r record) bool { return r.Type == "trial.started" }).Trial
	w.said(trial, "waiting")
	if _, problems, code := w.enter("true", trial); code != 1 || !strings.Contains(problems, trial+" is under way") {
		t.Errorf("entering a trial that is under way: exit %d\n%s", code, problems)
	}
	w.letGo(trial)
	if run := w.settled("run.look", patience); run.Trials[0].Status != "resolved" {
		t.Errorf("the trial is %+v", run.Trials[0])
	}
	w.terminate()
	w.stopped()

	out, problems, code := w.enter("cat src/level; wc -l </var/tmp/starts; assay-submit 2>/dev/null || echo nobody answers\necho changed >src/level; echo oops >&2; exit 7\n", trial)
	if out != "10\n1\nnobody answers\n" || problems != "oops\n" || code != 7 {
		t.Errorf("in the work container: exit %d, %q, %q", code, out, problems)
	}
	w.stopped()
	w.serve() // the next daemon leaves them alone
	out, _, code = w.enter("cat src/level; wc -l </var/tmp/starts; ls /agent; ls /.assayd/trial; tr '\\0' ' ' </proc/1/cmdline", trial)
	if !strings.HasPrefix(out, "changed\n1\nagent.sh\n") || strings.Contains(out, ".sock") || code != 0 {
		t.Errorf("later, in the work container: exit %d, %q", code, out)
	}
	out, _, code = w.enter("cat src/level tests/check.sh", trial, "--judge")
	if !strings.HasPrefix(out, "10\n") || !strings.Contains(out, "PASSED") || code != 0 {
		t.Errorf("in the judge's container: exit %d, %q", code, out)
	}
	w.terminal(trial)
	w.stopped()

	w.killed(trial)
	if out := w.ok("gc"); !strings.Contains(out, "1 kept container,") {
		t.Errorf("assayd gc:\n%s", out)
	}
	w.noContainerIsLeft()
	w.terminate()
	if left, err := os.ReadDir(filepath.Join(w.state, "t")); err != nil || len(left) > 0 {
		t.Errorf("of the trial's folder %v is left, %v", left, err)
	}
	if _, problems, code := w.enter("true", trial); code != 1 || !strings.Contains(problems, "has no work container") {
		t.Errorf("entering what is gone: exit %d\n%s", code, problems)
	}
}

// terminal enters the work container from a terminal.
func (w *fixture) terminal(trial string) {
	w.Helper()
	ours, theirs := w.pty()
	defer ours.Close()
	cmd := exec.CommandContext(w.Context(), binary, "shell", "--state", w.state, trial)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = theirs, theirs, theirs
	if err := errors.Join(cmd.Start(), theirs.Close()); err != nil {
		w.Fatal(err)
	}
	var shown bytes.Buffer
	read := make(chan struct{})
	go func() {
		defer close(read)
		_, _ = io.Copy(&shown, ours) // ends with the last who has the other side
	}()
	_, err := io.WriteString(ours, "tty; until stty size | grep '33 101'; do sleep 0.1; done; exit 5\n")
	ended := cmd.Wait()
	<-read
	if err != nil || cmd.ProcessState.ExitCode() != 5 || !strings.Contains(shown.String(), "/dev/pts/") || !strings.Contains(shown.String(), "33 101\r\n") {
		w.Errorf("at a terminal: %v, %v\n%s", err, ended, shown.String())
	}
}

// pty is a terminal of 33 lines.
func (w *fixture) pty() (ours, theirs *os.File) {
	w.Helper()
	ours, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		w.Fatal(err)
	}
	fd := int(ours.Fd())
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	err = errors.Join(err, unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0), unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 33, Col: 101}))
	if err == nil {
		theirs, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		w.Fatal(err)
	}
	return ours, theirs
}

// killed enters the work container and is killed there; gc leaves the container alone until then.
func (w *fixture) killed(trial string) {
	w.Helper()
	in, commands, err := os.Pipe()
	if err != nil {
		w.Fatal(err)
	}
	defer commands.Close()
	cmd := exec.CommandContext(w.Context(), binary, "shell", "--state", w.state, trial)
	cmd.Stdin = in
	if err := errors.Join(cmd.Start(), in.Close()); err != nil {
		w.Fatal(err)
	}
	w.until("the container runs", func() error {
		if p := w.phases(); p[container.RoleWork] != container.PhaseRunning {
			return fmt.Errorf("the containers are %v", p)
		}
		return nil
	})
	if _, problems, code := w.enter("true", trial); code != 1 || !strings.Contains(problems, "another shell") {
		w.Errorf("a second shell: exit %d\n%s", code, problems)
	}
	for _, args := range [][]string{{"gc", "--dry-run"}, {"gc"}} { // the judge's
		if out := w.ok(args...); !strings.Contains(out, "1 kept container,") {
			w.Errorf("assayd %v:\n%s", args, out)
		}
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait() // killed
	if p := w.phases(); p[container.RoleWork] != container.PhaseRunning {
		w.Errorf("after the shell was killed the containers are %v", p)
	}
}
