//go:build linux

package daemon_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/assayd/assayd/daemon/watch/watchtest"
)

// follower is a world in which one trial works while the files change around it. Beside its
// run there is a beacon: one that never begins, and whose generation tells which state of
// the files was taken in.
type follower struct {
	*fixture
	spec   string // benchmark, agent and the run that works
	beacon int
	bodies map[string]body
}

// newFollower returns a world that does not run yet.
func newFollower(t *testing.T) *follower {
	t.Helper()
	f := &follower{fixture: newFixture(t)}
	f.spec = f.benchmark() + f.agent("waiter", waiter) +
		f.run("wait", []string{`agent "waiter" {}`}, `timeout = "10m"`, `auto_eval = "0s"`)
	return f
}

// files is the next state of a folder: equal but for the beacon.
func (f *follower) files() map[string]string {
	return map[string]string{"r.hcl": f.next(), "waiter/agent.sh": waiter}
}

// next is the next text of the file.
func (f *follower) next() string {
	f.beacon++
	return f.spec + f.run("beacon", []string{`agent "nop" {}`}, `schedule = "0 0 1 1 *"`, fmt.Sprintf("parallel = %d", f.beacon))
}

// work starts the daemon and waits until the agent is at work.
func (f *follower) work(flags ...string) {
	f.Helper()
	f.serve(flags...)
	f.until("the agent is at work", func() error {
		trial, err := f.trial("run.wait", "waiter")
		if err == nil && !strings.Contains(f.agentLog(trial.ID), "waiting") {
			err = errors.New("it does not say so")
		}
		if err == nil {
			f.body(trial.ID)
		}
		return err
	})
	f.bodies = f.fixture.bodies()
}

// generation is which state of the files is in force, "" = none.
func (f *follower) generation() string {
	run, err := f.status("run.beacon")
	if err != nil {
		return ""
	}
	return run.Generation
}

// takenIn waits until another state than the one before is in force, and fails if that
// touched the trial.
func (f *follower) takenIn(what, before string) {
	f.Helper()
	f.until("the daemon takes in "+what, func() error {
		if now := f.generation(); now == before || now == "" {
			return fmt.Errorf("in force is %q", now)
		}
		return nil
	})
	f.untouched(f.bodies)
}

// results is the file that the records of the run are in, by its present path.
func (f *follower) results() string {
	f.Helper()
	run, err := f.status("run.wait")
	if err != nil {
		f.Fatal(err)
	}
	return run.Results
}

// recordsIn reads a file of records wherever it is.
func (f *follower) recordsIn(path string) []record {
	rel, err := filepath.Rel(f.specs, path)
	if err != nil {
		f.Fatal(err)
	}
	return f.records(rel)
}

// finish lets the agent go; what is recorded of its trial must be whole.
func (f *follower) finish() {
	f.Helper()
	for trial := range f.bodies {
		f.letGo(trial)
	}
	for _, t := range f.settled("run.wait", patience).Trials {
		if t.Status != "resolved" || t.Try != 1 {
			f.Errorf("trial %s is %s in try %d: %s", t.ID, t.Status, t.Try, t.Detail)
		}
	}
	var all []record
	f.until("the end is recorded", func() error {
		all = f.recordsIn(f.results())
		if !slices.ContainsFunc(all, func(r record) bool { return r.Type == "run.finished" }) {
			return fmt.Errorf("%s has %d records", f.results(), len(all))
		}
		return nil
	})
	f.oneVerdictEach(all)
	f.everyRoundHasItsVerdict(all)
	f.noContainerIsLeft()
}

// Whatever a program does to save a file, it is one change: no state in between is accepted,
// none is complained about, and the trial at work is not touched.
func TestEverySaveOfAnEditorIsOneChange(t *testing.T) {
	t.Parallel()
	f := newFollower(t)
	path := filepath.Join(f.specs, "r.hcl")
	f.write("r.hcl", f.next())
	f.work()
	seen := []string{f.generation()}
	for _, save := range watchtest.Saves() {
		before := f.generation()
		text := f.next()
		save.Do(t, path, text)
		f.takenIn("a save by "+save.Name, before)
		seen = append(seen, f.generation())
		if now, err := os.ReadFile(path); err != nil || string(now) != text {
			t.Fatalf("%s left another text than it was given: %v", save.Name, err)
		}
	}
	f.recorded("r.status.jsonl", "the last save", func(r record) bool { return r.Generation == seen[len(seen)-1] })
	var told []string
	for _, r := range f.records("r.status.jsonl") {
		switch {
		case r.Type != "spec.accepted":
			t.Errorf("a %s of %s is recorded: %+v", r.Type, r.Spec, r.Diagnostics)
		case r.Spec == "run.beacon":
			told = append(told, r.Generation)
		}
	}
	if !slices.Equal(told, seen) {
		t.Errorf("accepted were the generations\n%v, want each save's once:\n%v", told, seen)
	}
	f.finish()
}
