//go:build linux

package daemon_test

import (
	"bufio"
	"encoding/json"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// stream runs a command that follows something; its lines come through the channel, which
// is closed at its end.
func (w *fixture) stream(args ...string) (lines <-chan string) {
	w.Helper()
	cmd := exec.CommandContext(w.Context(), binary, append(args, "--state", w.state)...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		w.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		w.Fatal(err)
	}
	read := make(chan string, 1000)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer close(read)
		for s := bufio.NewScanner(out); s.Scan(); {
			read <- s.Text()
		}
		_ = cmd.Wait() // killed with the test, or ended
	}()
	w.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-ended
	})
	return read
}

func TestCommandsOnALiveDaemon(t *testing.T) {
	t.Parallel()
	w, trial, bodies := waiting(t)
	results := w.stream("results", "run.wait", "--follow")
	log := w.stream("logs", "-f", trial)

	if out := w.ok("status"); !strings.Contains(out, trial) || !strings.Contains(out, "running") || !strings.Contains(out, "3/10") {
		t.Errorf("assayd status:\n%s", out)
	}
	if out := w.ok("submissions", trial); !strings.Contains(out, "agent-1") || !strings.Contains(out, "3/10") {
		t.Errorf("assayd submissions:\n%s", out)
	}
	if _, problems, code := w.assayd("status", "run.wiat"); code != 1 || !strings.Contains(problems, "run.wiat") {
		t.Errorf("status of an unknown run: exit %d\n%s", code, problems)
	}
	if _, problems, code := w.assayd("rerun", "run.wait"); code != 1 || !strings.Contains(problems, "e1 still runs") {
		t.Errorf("rerun of a run that runs: exit %d\n%s", code, problems)
	}
	w.untouched(bodies)

	w.ok("cancel", trial)
	cancelled := w.settled("run.wait", patience)
	if got := cancelled.Trials[0].Status; got != "cancelled" {
		t.Errorf("the cancelled trial is %s", got)
	}
	printed := slices.Collect(lines(log)) // which ends with the trial
	if !slices.Contains(printed, "waiting") {
		t.Errorf("assayd logs -f: %q", printed)
	}
	seq := 0
	for line := range results {
		var r record
		if err := json.Unmarshal([]byte(line), &r); err != nil || r.Seq != seq+1 {
			t.Fatalf("after %d comes %q: %v", seq, line, err)
		}
		if seq = r.Seq; r.Type == "run.finished" {
			break
		}
	}

	w.ok("rerun", "run.wait")
	again := w.recorded("r.run.wait.jsonl", "the second execution", func(r record) bool { return r.Type == "trial.started" && r.Execution == "e2" }).Trial
	w.said(again, "waiting")
	w.ok("cancel", "run.wait")
	if run := w.settled("run.wait", patience); run.Execution != 2 || run.Trials[0].Status != "cancelled" {
		t.Errorf("after rerun and cancel: %+v", run)
	}
	w.ok("rerun", again) // one trial's cell
	third := w.recorded("r.run.wait.jsonl", "the third execution", func(r record) bool { return r.Type == "trial.started" && r.Execution == "e3" }).Trial
	w.said(third, "waiting")
	w.letGo(third)
	w.settled("run.wait", patience)

	w.terminate()
	if out := w.ok("status"); !strings.Contains(out, third) || !strings.Contains(out, "resolved") {
		t.Errorf("status without a daemon:\n%s", out)
	}
	if out := w.ok("results", "run.wait"); strings.Count(out, `"type":"run.finished"`) != 3 {
		t.Errorf("results without a daemon:\n%s", out)
	}
	if out := w.ok("logs", trial); !strings.Contains(out, "waiting") {
		t.Errorf("the log of the first execution: %q", out)
	}
	if _, problems, code := w.assayd("cancel", "run.wait"); code != 1 || !strings.Contains(problems, "no daemon is running") {
		t.Errorf("cancel without a daemon: exit %d\n%s", code, problems)
	}
	w.oneVerdictEach(w.records("r.run.wait.jsonl"))
	w.noContainerIsLeft()
}

// lines are what comes through a channel until it is closed.
func lines(c <-chan string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for line := range c {
			if !yield(line) {
				return
			}
		}
	}
}
