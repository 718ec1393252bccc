//go:build linux

package daemon_test

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/judge/round"
)

// slow declares a task whose judge does not come to an end by itself.
func (w *fixture) slow() string {
	return strings.NewReplacer(`"sh tests/check.sh"`, `"sleep 1200"`, `timeout = "30s"`, `timeout = "20m"`).Replace(w.benchmark())
}

// levelArchive is what an agent would submit.
func (w *fixture) levelArchive(level string) string {
	w.Helper()
	var b bytes.Buffer
	t := tar.NewWriter(&b)
	err := t.WriteHeader(&tar.Header{Name: "src/level", Mode: 0o644, Size: int64(len(level))})
	_, werr := t.Write([]byte(level))
	name := filepath.Join(filepath.Dir(w.state), "level.tar")
	if err := errors.Join(err, werr, t.Close(), os.WriteFile(name, b.Bytes(), 0o644)); err != nil {
		w.Fatal(err)
	}
	return name
}

// evaluating starts `assayd eval` and waits until its round runs.
func (w *fixture) evaluating() *process {
	w.Helper()
	cmd := exec.Command(binary, "eval", "--task", "benchmark."+w.bench+".climb", "--archive", w.levelArchive("3"), "--state", w.state)
	p := &process{cmd: cmd, exited: make(chan struct{})}
	if err := cmd.Start(); err != nil {
		w.Fatal(err)
	}
	go func() {
		defer close(p.exited)
		p.err = cmd.Wait()
	}()
	w.Cleanup(p.kill)
	w.until("the round runs", func() error {
		select {
		case <-p.exited:
			w.Fatalf("assayd eval ended: %v", p.err)
		default:
		}
		running, err := w.manual(round.StateRunning)
		if err == nil && len(running) == 0 {
			err = errors.New("no round is running")
		}
		return err
	})
	return p
}

// manual reads the rounds without a trial that are in a state.
func (w *fixture) manual(state round.State) (rounds []round.Submission, err error) {
	s, err := store.Open(w.Context(), w.state, store.Options{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	err = s.View(w.Context(), func(tx *store.Tx) error {
		rows, err := tx.SubmissionsInState(string(state))
		for _, row := range rows {
			var sub round.Submission
			if err := json.Unmarshal(row.Data, &sub); err != nil {
				return err
			}
			if strings.HasPrefix(sub.Trial, "eval.") && sub.Kind == round.KindManual {
				rounds = append(rounds, sub)
			}
		}
		return err
	})
	return rounds, errors.Join(err, s.Close())
}

// givenUp waits until so many rounds without a trial have ended without a verdict, and
// none is open.
func (w *fixture) givenUp(n int) {
	w.Helper()
	w.until(fmt.Sprintf("%d rounds are given up", n), func() error {
		running, err := w.manual(round.StateRunning)
		over, oerr := w.manual(round.StateJudged)
		for _, sub := range over {
			if sub.Report.Status != round.StatusError {
				w.Fatalf("%s has a verdict: %+v", sub.Trial, sub.Report)
			}
		}
		if len(over) != n || len(running) > 0 {
			err = errors.Join(err, fmt.Errorf("%d are, %d run", len(over), len(running)))
		}
		return errors.Join(err, oerr)
	})
}

// Nobody waits for a round without a trial but who asked for it.
func TestARoundWithoutATrialIsGivenUp(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.write("r.hcl", w.slow()+w.run("quiet", []string{`agent "nop" {}`}, `schedule = "0 0 1 1 *"`))
	w.serve()
	w.evaluating().kill() // who asked is gone
	w.givenUp(1)
	asked := w.evaluating()
	w.kill() // the daemon is gone
	<-asked.exited
	if code := asked.cmd.ProcessState.ExitCode(); code != 1 {
		t.Errorf("eval whose daemon died: exit %d", code)
	}
	w.serve()
	w.givenUp(2)
	asked = w.evaluating()
	w.terminate()
	<-asked.exited
	if code := asked.cmd.ProcessState.ExitCode(); code != 1 {
		t.Errorf("eval whose daemon was stopped: exit %d", code)
	}
	w.givenUp(3)
	alone := w.evaluating() // it judges by itself
	if _, problems, code := w.assayd("eval", "--task", "benchmark."+w.bench, "--archive", w.levelArchive("3")); code != 1 || !strings.Contains(problems, "is in use by process") {
		t.Errorf("two at once without a daemon: exit %d\n%s", code, problems)
	}
	if err := alone.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	<-alone.exited
	w.givenUp(4)
	w.noContainerIsLeft()
}

// The views that only the host has: the tasks, and what was submitted, auto rounds and all.
func TestHostViews(t *testing.T) {
	t.Parallel()
	w, trial, _ := waiting(t)
	tasks, err := w.client.Tasks(t.Context(), nil)
	if err != nil || len(tasks.Tasks) != 1 {
		t.Fatalf("%+v, %v", tasks, err)
	}
	if x := tasks.Tasks[0]; x.ID != "climb" || x.Benchmark != w.bench || x.Parser != "structured_json" || x.Base != base || x.Missing != "" {
		t.Errorf("the task is %+v", x)
	}
	for _, name := range []string{trial, "run.wait"} {
		h, err := w.client.History(t.Context(), name)
		if err != nil || h.RunID != name || h.Round != "agent-1" || h.PassRate != 0.3 || h.Agent != 1 || len(h.Entries) != 1 {
			t.Fatalf("%s: %+v, %v", name, h, err)
		}
		if e, _ := h.Entries[0].(map[string]any); e["type"] != "submission" || e["round"] != "agent-1" || e["status"] != "completed" || e["task_id"] != "climb" {
			t.Errorf("%s: %v", name, h.Entries)
		}
	}
	if _, err := w.client.History(t.Context(), "run.wiat"); err == nil || !strings.Contains(err.Error(), "run.wait") {
		t.Errorf("the history of no run: %v", err)
	}

	// A round without a trial beside the trial: it has a verdict, and the trial knows nothing of it.
	out := w.ok("eval", "--task", "benchmark."+w.bench+".climb", "--archive", w.levelArchive("7"), "--json")
	var judged struct {
		Round  string
		Report round.Report
	}
	if err := json.Unmarshal([]byte(out), &judged); err != nil || judged.Round != "manual-1" || judged.Report.Passed != 7 || judged.Report.TotalTests != 10 {
		t.Errorf("%v\n%s", err, out)
	}
	again := w.ok("eval", "--round", trial+"/agent-1", "--json")
	var both struct {
		Of             string
		Report, Before round.Report
	}
	if err := json.Unmarshal([]byte(again), &both); err != nil || both.Of != trial+"/agent-1" || both.Report.Passed != 3 || both.Before.Passed != 3 {
		t.Errorf("%v\n%s", err, again)
	}
	if h, err := w.client.History(t.Context(), trial); err != nil || len(h.Entries) != 1 {
		t.Errorf("the trial's history: %+v, %v", h, err)
	}
	w.letGo(trial)
	w.settled("run.wait", patience)
	if got := w.records("r.run.wait.jsonl"); len(got) == 0 {
		t.Error("there are no records")
	}
	w.oneVerdictEach(w.records("r.run.wait.jsonl"))
}
