//go:build linux

package daemon_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// waiting starts one run with one waiter and waits until it is at work.
func waiting(t *testing.T, flags ...string) (w *fixture, trial string, bodies map[string]body) {
	t.Helper()
	w = newFixture(t)
	w.write("r.hcl", w.benchmark()+w.agent("waiter", waiter)+w.run("wait", []string{`agent "waiter" {}`}, `timeout = "5m"`, `auto_eval = "0s"`))
	w.serve(flags...)
	trial = w.recorded("r.run.wait.jsonl", "the trial's start", func(r record) bool { return r.Type == "trial.started" }).Trial
	w.said(trial, "waiting")
	w.body(trial)
	return w, trial, w.bodies()
}

func TestSIGTERMLeavesTheWorkToTheNextDaemon(t *testing.T) {
	t.Parallel()
	w, trial, bodies := waiting(t)
	for range 2 {
		w.terminate()
		w.untouched(bodies)
		w.serve()
		w.untouched(bodies)
	}
	w.letGo(trial)
	if run := w.settled("run.wait", patience); run.Trials[0].Status != "resolved" || run.Trials[0].Try != 1 {
		t.Errorf("the trial is %+v", run.Trials[0])
	}
	all := w.history("r.run.wait.jsonl")
	w.oneVerdictEach(all)
	if n := len(ofType("trial.resumed", all)); n != 0 {
		t.Errorf("the agent was resumed %d times", n)
	}
	w.noContainerIsLeft()
}

func TestASecondDaemonIsTurnedAway(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.serve()
	_, problems, code := w.assayd("serve", "--watch", w.specs)
	if want := fmt.Sprintf("in use by process %d", w.daemon.cmd.Process.Pid); code != 1 || !strings.Contains(problems, want) || !strings.Contains(problems, w.state) {
		t.Errorf("exit %d, want 1 and %q:\n%s", code, want, problems)
	}
	if _, err := w.client.Version(t.Context()); err != nil {
		t.Errorf("the first daemon was hurt: %v", err)
	}
	w.terminate()
}

func TestSIGHUPReadsContextsAgain(t *testing.T) {
	t.Parallel()
	w, old, bodies := waiting(t)
	w.agent("waiter", "echo second edition\n"+waiter) // writes the program; the spec stays
	w.untouched(bodies)
	w.signal(syscall.SIGHUP)
	w.untouched(bodies) // a run that runs keeps the program it began with
	w.letGo(old)
	w.settled("run.wait", patience)
	w.recorded("r.run.wait.jsonl", "that the run is stale", func(r record) bool { return r.Type == "run.stale" })
	if _, err := w.client.Rerun(w.Context(), "run.wait"); err != nil {
		t.Fatal(err)
	}
	fresh := w.recorded("r.run.wait.jsonl", "the trial of the new program", func(r record) bool {
		return r.Type == "trial.started" && r.Trial != old
	}).Trial
	w.said(fresh, "second edition")
	w.letGo(fresh)
	w.until("both trials are over", func() error {
		for _, r := range ofType("trial.finished", w.records("r.run.wait.jsonl")) {
			if r.Trial == fresh && r.Status == "resolved" {
				return nil
			}
		}
		return errors.New("they are not")
	})
	w.oneVerdictEach(w.history("r.run.wait.jsonl"))
	w.noContainerIsLeft()
}

// Changed settings take effect without a new process and without touching what runs; wrong
// ones change nothing.
func TestSIGHUPTakesUpChangedSettings(t *testing.T) {
	t.Parallel()
	settings := filepath.Join(t.TempDir(), "assayd.hcl")
	set := func(text string) {
		t.Helper()
		if err := os.WriteFile(settings, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	set("")
	w, trial, bodies := waiting(t, "--config", settings)
	pid := w.daemon.cmd.Process.Pid
	logged := func(what string) {
		t.Helper()
		w.until("the daemon says: "+what, func() error {
			if !strings.Contains(w.daemonLog(), what) {
				return errors.New("it does not")
			}
			return nil
		})
	}
	set("log { level = 7 }\n")
	w.signal(syscall.SIGHUP)
	logged("the settings cannot be used")
	set("log {\n  format = \"json\"\n}\n")
	w.signal(syscall.SIGHUP)
	logged(`"msg":"ready"`)
	w.untouched(bodies)
	if v, err := w.client.Version(t.Context()); err != nil || v.PID != pid {
		t.Errorf("%+v, %v; want process %d", v, err, pid)
	}
	w.letGo(trial)
	if run := w.settled("run.wait", patience); run.Trials[0].Status != "resolved" || run.Trials[0].Try != 1 {
		t.Errorf("the trial is %+v", run.Trials[0])
	}
	w.oneVerdictEach(w.history("r.run.wait.jsonl"))
	w.noContainerIsLeft()
}

func TestDrainFinishesFirst(t *testing.T) {
	t.Parallel()
	w, trial, bodies := waiting(t, "--drain")
	w.signal(syscall.SIGTERM)
	w.until("the daemon drains", func() error {
		if !strings.Contains(w.daemonLog(), "draining") {
			return errors.New("it does not say so")
		}
		return nil
	})
	w.untouched(bodies)
	if _, err := w.status("run.wait"); err != nil {
		t.Errorf("a daemon that drains does not answer: %v", err)
	}
	w.letGo(trial)
	w.ended(patience)
	all := w.history("r.run.wait.jsonl")
	w.oneVerdictEach(all)
	if finished := ofType("trial.finished", all); len(finished) != 1 || finished[0].Status != "resolved" {
		t.Errorf("finished is %+v", finished)
	}
	w.noContainerIsLeft()
}

func TestASecondSignalEndsTheDrain(t *testing.T) {
	t.Parallel()
	w, trial, bodies := waiting(t, "--drain")
	w.signal(syscall.SIGTERM)
	w.until("the daemon drains", func() error {
		if !strings.Contains(w.daemonLog(), "draining") {
			return errors.New("it does not say so")
		}
		return nil
	})
	w.terminate()
	w.untouched(bodies)
	w.serve()
	w.letGo(trial)
	w.settled("run.wait", patience)
	w.oneVerdictEach(w.history("r.run.wait.jsonl"))
	w.noContainerIsLeft()
}

// assayd drain lets what is at work finish, and nothing else begin; the pause is there for the next daemon.
func TestDrainByCommand(t *testing.T) {
	t.Parallel()
	w, trial, bodies := waiting(t, "--drain")
	w.write("s.hcl", w.run("later", []string{`agent "waiter" {}`}, "paused = true"))
	if out := w.ok("drain", "--json", "--dry-run"); !strings.Contains(out, `"state": "draining"`) {
		t.Errorf("a dry run says %s", out)
	}
	for _, changed := range []string{"true", "false"} {
		if out := w.ok("drain", "--json"); !strings.Contains(out, `"changed": `+changed) || !strings.Contains(out, `"state": "draining"`) {
			t.Errorf("drain says %s", out)
		}
	}
	w.untouched(bodies)
	w.letGo(trial)
	w.ended(patience)
	w.noContainerIsLeft()
	w.serve("--drain")
	if out := w.ok("resume", "all", "--json"); !strings.Contains(out, `"changed": true`) {
		t.Errorf("the next daemon does not hold: %s", out)
	}
	all := w.history("r.run.wait.jsonl") // of a run that is held a drain waits for what works alone
	w.oneVerdictEach(all)
	if finished := ofType("trial.finished", all); len(finished) != 1 || finished[0].Status != "resolved" {
		t.Errorf("finished is %+v", finished)
	}
}
