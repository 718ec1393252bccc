//go:build linux

package daemon_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/trial/mixedruns"
)

// body is a work container as the host sees it.
type body struct {
	ID      string
	Started time.Time // of the last start of the container
	Agent   string    // pid and start time of the agent's first process; "" = none is there
}

// bodies are the running work containers by trial, seen without the daemon.
func (w *fixture) bodies() map[string]body {
	w.Helper()
	all, err := w.engine.Observe(w.Context(), w.owner)
	if err != nil {
		w.Fatal(err)
	}
	found := map[string]body{}
	for _, c := range all {
		if c.Labels[container.LabelRole] == container.RoleWork && c.Phase == container.PhaseRunning {
			b := body{ID: c.ID, Started: c.StartedAt}
			for _, p := range processes(w.T, c.ID) {
				if (strings.Contains(p.command, "/agent/") || strings.Contains(p.command, "/.assayd/program/")) && p.parentIsGuest {
					b.Agent = fmt.Sprintf("pid %d since %s", p.pid, p.since)
				}
			}
			found[c.Labels[container.LabelTrial]] = b
		}
	}
	return found
}

// body waits until the container of a trial runs with an agent in it.
func (w *fixture) body(trial string) (b body) {
	w.Helper()
	w.until("the agent of "+trial+" runs", func() error {
		if b = w.bodies()[trial]; b.Agent == "" {
			return fmt.Errorf("seen: %+v", b)
		}
		return nil
	})
	return b
}

// instance is a container as the engine sees it.
func (w *fixture) instance(id string) container.Instance {
	w.Helper()
	c, err := w.engine.Inspect(w.Context(), id)
	if err != nil {
		w.Fatal(err)
	}
	return c
}

// untouched fails unless each of the trials still has the body it had, or had to be started again
// because its engine was killed while it froze the container.
func (w *fixture) untouched(before map[string]body) {
	w.Helper()
	now := w.bodies()
	for trial, b := range before {
		if now[trial] != b && !w.forgotten(b) {
			w.Errorf("trial %s was touched:\nbefore %+v\nnow    %+v", trial, b, now[trial])
		}
	}
}

// forgotten tells that a container was killed because its engine had forgotten that it froze it.
func (w *fixture) forgotten(b body) bool {
	w.Helper()
	for line := range strings.Lines(w.daemonLog()) {
		if strings.Contains(line, "has forgotten that it froze a container") && strings.Contains(line, b.ID) {
			return true
		}
	}
	return false
}

// inhabitant is a process of a container, with the host's numbers.
type inhabitant struct {
	pid           int
	since         string // clock ticks since boot
	command       string
	parentIsGuest bool
}

// processes reads the host's process table for those in the container's control group.
func processes(t *testing.T, id string) (found []inhabitant) {
	t.Helper()
	groups, err := filepath.Glob("/proc/[0-9]*/cgroup")
	if err != nil {
		t.Fatal(err)
	}
	parents := map[int]int{}
	guest := 0
	for _, name := range groups {
		if group, err := os.ReadFile(name); err != nil || !bytes.Contains(group, []byte(id)) {
			continue // gone, or another's
		}
		dir := filepath.Dir(name)
		stat, err := os.ReadFile(filepath.Join(dir, "stat"))
		if err != nil {
			continue
		}
		command, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		// The command in parentheses may hold anything: the fields after it are counted.
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		pid, _ := strconv.Atoi(filepath.Base(dir))
		parents[pid], _ = strconv.Atoi(fields[1])
		p := inhabitant{pid: pid, since: fields[19], command: strings.ReplaceAll(string(command), "\x00", " ")}
		if strings.HasPrefix(p.command, "/.assayd/bin/assay-guest run") {
			guest = pid
		}
		found = append(found, p)
	}
	for i, p := range found {
		found[i].parentIsGuest = guest != 0 && parents[p.pid] == guest
	}
	return found
}

// noContainerIsLeft waits until the last container of the owner is gone.
func (w *fixture) noContainerIsLeft() {
	w.Helper()
	w.until("no container is left", func() error {
		left, err := w.engine.Observe(w.Context(), w.owner)
		for _, c := range left {
			err = fmt.Errorf("%s is %s", c.Name, c.Phase)
		}
		return err
	})
}

// record is one line of a result file.
type record struct {
	V          int
	Seq        int
	Time       time.Time
	Type       string
	Spec       string
	Execution  string
	Trial      string
	Try        int
	Agent      string
	Round      string
	Kind       string
	Final      bool
	Status     string
	Problem    string
	Reason     string
	Detail     string
	Event      string
	Count      int
	Deadline   time.Time
	TimedOut   bool `json:"timed_out"`
	Tampered   bool
	Flags      []string
	Best       *struct{ Round string }
	Archive    struct{ SHA256 string }
	To         string
	Generation string
	Decoys     *mixedruns.Record

	Diagnostics []struct {
		Severity, Summary, File string
		Line                    int
	}
}

// records reads a result file and checks what holds for each at any moment: every line but
// a torn last one is a record, and seq counts from 1 without a gap.
func (w *fixture) records(name string) []record {
	w.Helper()
	text, err := os.ReadFile(filepath.Join(w.specs, name))
	if err != nil {
		return nil
	}
	var all []record
	for line := range bytes.Lines(text) {
		if !bytes.HasSuffix(line, []byte("\n")) {
			break
		}
		var r record
		if err := json.Unmarshal(line, &r); err != nil {
			w.Fatalf("%s: %v in line %q", name, err, line)
		}
		if r.V != 1 || r.Seq != len(all)+1 || r.Time.IsZero() || r.Type == "" {
			w.Fatalf("%s: line %d is %s", name, len(all)+1, line)
		}
		all = append(all, r)
	}
	return all
}

// recorded waits until a record of the file matches, and returns it.
func (w *fixture) recorded(name, what string, matches func(record) bool) (found record) {
	w.Helper()
	w.until(name+" tells of "+what, func() error {
		all := w.records(name)
		i := slices.IndexFunc(all, matches)
		if i < 0 {
			return fmt.Errorf("it has %d records", len(all))
		}
		found = all[i]
		return nil
	})
	return found
}

func ofType(typ string, all []record) []record {
	return slices.DeleteFunc(slices.Clone(all), func(r record) bool { return r.Type != typ })
}

// oneVerdictEach fails unless every trial has exactly one final trial.finished and no
// round of a trial is reported twice.
func (w *fixture) oneVerdictEach(all []record) {
	w.Helper()
	finals, rounds := map[string]int{}, map[string]int{}
	for _, r := range all {
		switch {
		case r.Type == "trial.started":
			finals[r.Trial] += 0
		case r.Type == "trial.finished" && r.Final:
			finals[r.Trial]++
		case r.Type == "submission":
			rounds[r.Trial+" "+r.Round]++
		}
	}
	for _, trial := range slices.Sorted(maps.Keys(finals)) {
		if finals[trial] != 1 {
			w.Errorf("trial %s has %d final verdicts", trial, finals[trial])
		}
	}
	for round, n := range rounds {
		if n != 1 {
			w.Errorf("round %s is reported %d times", round, n)
		}
	}
}
