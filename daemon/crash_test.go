package daemon_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"time"
)

// A kill -9 costs nothing: not an agent, not a submission, not a second.
func TestTenCrashesOfTheDaemonCostNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write("r.hcl", w.benchmark()+w.agent("climber", climber)+w.run("crash", []string{
		`agent "climber" { label = "a" }`, `agent "climber" { label = "b" }`, `agent "climber" { label = "c" }`, `agent "climber" { label = "d" }`,
	}, `timeout = "3m"`, `parallel = 4`, `auto_eval = "7s"`))
	const file = "r.run.crash.jsonl"
	seed := uint64(time.Now().UnixNano())
	t.Logf("random moments from seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	seen := map[string]body{}
	look := func() {
		for trial, b := range w.bodies() {
			if old, ok := seen[trial]; ok && b.Agent != "" && b != old {
				t.Errorf("trial %s is another process than before:\nbefore %+v\nnow    %+v", trial, old, b)
			} else if b.Agent != "" {
				seen[trial] = b
			}
		}
	}
	deadlines := map[string]time.Time{}
	for crash := range 10 {
		w.launch()
		if crash == 0 { // the worst of moments: a container is made, and nothing of it stored
			w.until("there is a container", func() error {
				if len(w.bodies()) == 0 {
					return errors.New("there is none")
				}
				return nil
			})
			w.kill()
			continue
		}
		moment := time.After(time.Duration(random.IntN(3500)) * time.Millisecond)
		select {
		case <-moment:
		case <-w.daemon.exited:
			t.Fatalf("daemon %d ended by itself: %v", crash+1, w.daemon.err)
		}
		w.kill()
		look()
		w.records(file)
	}
	w.serve()
	look()
	if len(seen) != 4 {
		t.Errorf("saw the agents of %d trials while the daemon crashed, want 4", len(seen))
	}
	run := w.settled("run.crash", 2*time.Minute)
	for _, trial := range run.Trials {
		deadlines[trial.ID] = trial.Deadline
		if trial.Status != "resolved" && trial.Status != "unresolved" || trial.Try != 1 || trial.Reason != "agent_exit" {
			t.Errorf("trial %s: %s %s, try %d, %s", trial.ID, trial.Status, trial.Reason, trial.Try, trial.Detail)
		}
		w.keptCounting(trial.ID)
	}
	all := w.history(file)
	w.oneVerdictEach(all)
	w.everyRoundHasItsVerdict(all)
	started := ofType("trial.started", all)
	if len(started) != 4 {
		t.Errorf("%d records of trial.started, want 4", len(started))
	}
	for _, r := range started {
		if !r.Deadline.Equal(deadlines[r.Trial]) {
			t.Errorf("deadline of %s moved from %s to %s", r.Trial, r.Deadline, deadlines[r.Trial])
		}
	}
	w.noContainerIsLeft()
}

// history waits until the file tells of the run's end and returns all of it.
func (w *world) history(file string) []record {
	w.Helper()
	w.recorded(file, "the run's end", func(r record) bool { return r.Type == "run.finished" })
	return w.records(file)
}

var (
	step     = regexp.MustCompile(`(?m)^step (\d+) of (\d+)$`)
	accepted = regexp.MustCompile(`(?m)^Accepted as round (\S+), submission \S+$`)
)

// keptCounting fails unless one process wrote the whole log of a climber.
func (w *world) keptCounting(trial string) {
	w.Helper()
	log := w.agentLog(trial)
	steps := step.FindAllStringSubmatch(log, -1)
	for i, s := range steps {
		if s[1] != fmt.Sprint(i+1) || s[2] != steps[0][2] {
			w.Errorf("trial %s: step %d reads %q", trial, i+1, s[0])
		}
	}
	if len(steps) != 8 || strings.Count(log, "born ") != 1 || strings.Contains(log, "submit failed") {
		w.Errorf("trial %s made %d steps:\n%s", trial, len(steps), log)
	}
}

// everyRoundHasItsVerdict compares what agents were told with what was judged.
func (w *world) everyRoundHasItsVerdict(all []record) {
	w.Helper()
	judged := map[string]bool{}
	for _, r := range ofType("submission", all) {
		if r.Kind == "agent" {
			judged[r.Trial+" "+r.Round] = true
		}
	}
	for _, r := range ofType("trial.finished", all) {
		for _, m := range accepted.FindAllStringSubmatch(w.agentLog(r.Trial), -1) {
			round := r.Trial + " " + m[1]
			if !judged[round] {
				w.Errorf("round %s was acknowledged and has no verdict", round)
			}
			delete(judged, round)
		}
	}
	for round := range judged {
		w.Errorf("round %s was judged and never acknowledged", round)
	}
}
