//go:build linux

package daemon_test

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// edits is a spec with two agents at work that is then edited under them.
type edits struct {
	*fixture
	common string // benchmark and agent
	beacon int
}

// newEdits starts the run with the agents a and b and waits until both are at work.
func newEdits(t *testing.T) (e *edits, bodies map[string]body) {
	t.Helper()
	w := newFixture(t)
	e = &edits{fixture: w, common: w.benchmark() + w.agent("waiter", waiter)}
	e.write("one.hcl", e.common+e.block([]string{"a", "b"}, "parallel = 3"))
	w.serve()
	return e, e.atWork("a", "b")
}

// block is the run with these agents.
func (e *edits) block(labels []string, lines ...string) string {
	var agents []string
	for _, l := range labels {
		agents = append(agents, fmt.Sprintf(`agent "waiter" { label = %q }`, l))
	}
	return e.run("edit", agents, append(lines, `timeout = "5m"`, `auto_eval = "0s"`)...)
}

// atWork waits until exactly these agents are at work, and returns their bodies by trial.
func (e *edits) atWork(labels ...string) map[string]body {
	e.Helper()
	found := map[string]body{}
	for _, l := range labels {
		e.until("agent "+l+" is at work", func() error {
			trial, err := e.trial("run.edit", l)
			if err == nil && !strings.Contains(e.agentLog(trial.ID), "waiting") {
				err = fmt.Errorf("its log is %q", e.agentLog(trial.ID))
			}
			if err == nil {
				found[trial.ID] = e.body(trial.ID)
			}
			return err
		})
	}
	if now := e.bodies(); len(now) != len(found) {
		e.Errorf("at work are %v, want the trials %v", now, found)
	}
	return found
}

// save writes a file together with a mark whose arrival shows that the daemon has taken
// in the rest: a run that never begins.
func (e *edits) save(name, text string) {
	e.Helper()
	e.beacon++
	mark := e.run("beacon", []string{`agent "nop" {}`}, `schedule = "0 0 1 1 *"`, fmt.Sprintf("parallel = %d", e.beacon))
	before, err := e.status("run.beacon")
	if err != nil {
		before.Generation = ""
	}
	e.write(name, text+mark)
	e.until("the edit is taken in", func() error {
		now, err := e.status("run.beacon")
		if err == nil && now.Generation == before.Generation {
			err = errors.New("the file is still the old one")
		}
		return err
	})
}

func TestEditsTouchNothingThatRuns(t *testing.T) {
	t.Parallel()
	e, bodies := newEdits(t)

	e.save("one.hcl", e.common+e.block([]string{"a", "b", "c"}, "parallel = 3"))
	three := e.atWork("a", "b", "c")
	e.untouched(bodies)
	bodies = three

	e.save("one.hcl", e.common+e.block([]string{"a", "b", "c"}, "parallel = 1", `stagger = "1h"`, `keep = "never"`))
	e.untouched(bodies)

	level := strings.Replace(e.common, `"Raise the number in src/level."`, "local.NAME", 1)
	for _, name := range []string{"words", "phrase"} {
		e.save("one.hcl", fmt.Sprintf("# remark on %s\nlocals {\n  %s = \"Raise the number in src/level.\"\n}\n", name, name)+
			strings.Replace(level, "NAME", name, 1)+e.block([]string{"a", "b", "c"}, "parallel = 3"))
		e.untouched(bodies)
	}

	// The block moves: first gone from the one file, then there in the other.
	e.save("one.hcl", e.common)
	e.write("two.hcl", e.block([]string{"a", "b", "c"}, "parallel = 3"))
	moved := e.recorded("one.run.edit.jsonl", "the move", func(r record) bool { return r.Type == "spec.moved" })
	if !strings.HasSuffix(moved.To, "two.run.edit.jsonl") {
		t.Errorf("it moved to %q", moved.To)
	}
	e.recorded("two.run.edit.jsonl", "three trials", func(r record) bool { return r.Seq == moved.Seq-1 })
	e.untouched(bodies)
	old, whole := e.lines("one.run.edit.jsonl"), e.lines("two.run.edit.jsonl")
	for i, line := range old[:moved.Seq-1] {
		if whole[i] != line {
			t.Errorf("line %d moved as %s\nand was    %s", i+1, whole[i], line)
		}
	}

	// One agent goes, and only its trial with it.
	b, err := e.trial("run.edit", "b")
	if err != nil {
		t.Fatal(err)
	}
	e.write("two.hcl", e.block([]string{"a", "c"}, "parallel = 3"))
	gone := e.recorded("two.run.edit.jsonl", "the cancelled trial", func(r record) bool { return r.Type == "trial.finished" })
	if gone.Trial != b.ID || gone.Status != "cancelled" {
		t.Errorf("finished is %s as %s, want %s cancelled", gone.Trial, gone.Status, b.ID)
	}
	delete(bodies, b.ID)
	e.untouched(bodies)
	if now := e.lines("one.run.edit.jsonl"); len(now) != len(old) {
		t.Errorf("the old file went on: %s", now[len(now)-1])
	}
	e.finish(bodies, "two.run.edit.jsonl")
}

// finish lets all agents go and looks at what the results say.
func (e *edits) finish(bodies map[string]body, file string) {
	e.Helper()
	for trial := range maps.Keys(bodies) {
		e.letGo(trial)
	}
	for _, t := range e.settled("run.edit", patience).Trials {
		if _, ran := bodies[t.ID]; ran && t.Status != "resolved" {
			e.Errorf("trial %s is %s", t.ID, t.Status)
		}
	}
	e.oneVerdictEach(e.history(file))
	e.noContainerIsLeft()
}

// lines are the whole lines of a file of results.
func (e *edits) lines(name string) []string {
	e.Helper()
	text, err := os.ReadFile(filepath.Join(e.specs, name))
	if err != nil {
		e.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
}

func TestAFileThatVanishesForAMomentCancelsNothing(t *testing.T) {
	t.Parallel()
	e, bodies := newEdits(t)
	text := e.common + e.block([]string{"a", "b"}, "parallel = 3")
	e.remove("one.hcl")
	e.until("the file is missed", func() error {
		run, err := e.status("run.edit")
		if err == nil && !strings.Contains(run.Note, "the block is gone") && !strings.Contains(run.Note, "no file declares it") {
			err = fmt.Errorf("the note is %q", run.Note)
		}
		return err
	})
	e.untouched(bodies)
	e.kill() // forgets nothing about the grace
	e.serve()
	e.untouched(bodies)
	e.write("one.hcl", text)
	e.until("the file is there again", func() error {
		run, err := e.status("run.edit")
		if err == nil && (run.Wanted != 2 || run.Note != "") {
			err = fmt.Errorf("%d cells are wanted, note %q", run.Wanted, run.Note)
		}
		return err
	})
	e.untouched(bodies)
	e.finish(bodies, "one.run.edit.jsonl")
}

func TestABrokenFileChangesNothing(t *testing.T) {
	t.Parallel()
	e, bodies := newEdits(t)
	valid := e.common + e.block([]string{"a", "b"}, "parallel = 3")
	broken := e.common + strings.Replace(e.block([]string{"a"}), "timeout", "timeuot", 1)
	before, _, _ := strings.Cut(broken, "timeuot")
	line := 1 + strings.Count(before, "\n")

	e.write("one.hcl", broken)
	rejected := e.recorded("one.status.jsonl", "the error", func(r record) bool { return r.Type == "spec.rejected" })
	if len(rejected.Diagnostics) == 0 || rejected.Diagnostics[0].Line != line || rejected.Diagnostics[0].File != "one.hcl" {
		t.Errorf("the rejection says %+v, want line %d of one.hcl", rejected.Diagnostics, line)
	}
	for range 2 {
		_, problems, code := e.assayd("status")
		if want := fmt.Sprintf("on one.hcl line %d, in run \"edit\":", line); code != 0 || !strings.Contains(problems, want) || !strings.Contains(problems, `"timeout"`) {
			t.Errorf("assayd status, exit %d, want %q and the right name:\n%s", code, want, problems)
		}
		if run, err := e.status("run.edit"); err != nil || run.Wanted != 2 || run.State != "running" {
			t.Errorf("the run is %+v, %v", run, err)
		}
		e.untouched(bodies)
		e.kill() // what was accepted is kept in the store
		e.serve()
	}
	e.untouched(bodies)

	e.write("one.hcl", strings.Replace(valid, "parallel = 3", "parallel = 2", 1))
	e.until("the mended file is taken in", func() error {
		s, err := e.client.Status(e.Context(), "")
		if err == nil && len(s.Diagnostics) > 0 {
			err = fmt.Errorf("%+v", s.Diagnostics)
		}
		return err
	})
	e.untouched(bodies)
	e.finish(bodies, "one.run.edit.jsonl")
}
