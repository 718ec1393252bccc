package daemon_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/judge"
	"github.com/assayd/assayd/runtime/trial"
)

// vigil watches what no end of a daemon may change, through any number of them.
type vigil struct {
	*world
	agents    map[string]body      // by trial, as first seen
	deadlines map[string]time.Time // by trial and try
	lines     map[string][]byte    // what result files were seen to hold, by name
	launched  time.Time            // of the daemon that runs
}

func (w *world) vigil() *vigil {
	return &vigil{world: w, agents: map[string]body{}, deadlines: map[string]time.Time{}, lines: map[string][]byte{}}
}

// look compares with what was seen before; it may be called at any moment.
func (v *vigil) look() {
	v.Helper()
	for id, b := range v.bodies() {
		switch old, known := v.agents[id]; {
		case b.Agent == "":
		case !known:
			v.agents[id] = b
		case b != old:
			v.Errorf("trial %s is another process than before:\nbefore %+v\nnow    %+v", id, old, b)
		}
	}
	for _, name := range v.files() {
		v.grown(name)
	}
}

// files are the names of the result files.
func (v *vigil) files() (names []string) {
	v.Helper()
	found, err := filepath.Glob(filepath.Join(v.specs, "*.jsonl"))
	if err != nil {
		v.Fatal(err)
	}
	for _, path := range found {
		names = append(names, filepath.Base(path))
	}
	return names
}

// grown checks that a result file still begins with what it held, that its seq has no gap,
// and that no deadline in it has moved.
func (v *vigil) grown(name string) {
	v.Helper()
	text, err := os.ReadFile(filepath.Join(v.specs, name))
	if err != nil {
		v.Fatal(err)
	}
	text = text[:bytes.LastIndexByte(text, '\n')+1]
	if old := v.lines[name]; !bytes.HasPrefix(text, old) {
		v.Errorf("%s held\n%s\nand holds now\n%s", name, old, text)
	}
	v.lines[name] = text
	for _, r := range ofType("trial.started", v.records(name)) {
		key := fmt.Sprintf("%s/%d", r.Trial, r.Try)
		if old, known := v.deadlines[key]; known && !old.Equal(r.Deadline) {
			v.Errorf("trial %s has the deadline %s and had %s", key, r.Deadline, old)
		}
		v.deadlines[key] = r.Deadline
	}
}

// tidy waits until nothing is left that a former daemon made and this one has no use for:
// no container, no file, no folder, and every result file whole again.
func (v *vigil) tidy() {
	v.Helper()
	v.until("nothing of former daemons is left", func() error {
		open, err := v.open()
		return errors.Join(err, v.strayContainers(open), v.strayFiles(open), v.torn())
	})
}

// open are the states of the trials that are not done.
func (w *world) open() (states []trial.State, err error) {
	s, err := store.Open(w.Context(), w.state, store.Options{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	err = s.View(w.Context(), func(tx *store.Tx) error {
		rows, err := tx.OpenTrials()
		for _, row := range rows {
			var one trial.State
			if err := json.Unmarshal(row.Data, &one); err != nil {
				return err
			}
			states = append(states, one)
		}
		return err
	})
	return states, errors.Join(err, s.Close())
}

func (v *vigil) strayContainers(open []trial.State) error {
	all, err := v.engine.Observe(v.Context(), v.owner)
	if err != nil {
		return err
	}
	var stray []error
	for _, c := range all {
		wanted := slices.ContainsFunc(open, func(s trial.State) bool { return s.Workload.Name == c.Name })
		if !wanted && c.CreatedAt.Before(v.launched) {
			stray = append(stray, fmt.Errorf("container %s (%s) is %s", c.Name, c.Labels[container.LabelRole], c.Phase))
		}
	}
	return errors.Join(append(stray, v.strayResources())...)
}

// strayResources are volumes and networks: assayd makes none of its own.
func (w *world) strayResources() error {
	var stray []error
	for _, kind := range []string{"volume", "network"} {
		out, err := exec.CommandContext(w.Context(), "docker", kind, "ls", "-q", "--filter", "label="+container.LabelOwner+"="+w.owner).Output()
		if err != nil || len(out) > 0 {
			stray = append(stray, fmt.Errorf("docker %s ls: %s, %w", kind, out, err))
		}
	}
	return errors.Join(stray...)
}

// temporary are the patterns of what is only there while a daemon is at it, below the
// state directory.
var temporary = []string{
	"blobs/tmp/*", "lists/tmp/*", "spool/*", "git/cut-*", "git/spool-*", "guest/.new-*", "trials/*/*/*.partial",
}

// strayFiles are temporary files from before the present daemon, and what is mounted into
// containers of trials that are over.
func (v *vigil) strayFiles(open []trial.State) error {
	var stray []error
	for _, pattern := range temporary {
		for _, path := range v.found(pattern) {
			if info, err := os.Lstat(path); err == nil && info.ModTime().Before(v.launched) {
				stray = append(stray, fmt.Errorf("%s was left", path))
			}
		}
	}
	for _, pattern := range []string{"t/*", "trials/*/*/agent"} {
		for _, path := range v.found(pattern) {
			mounted := slices.ContainsFunc(open, func(s trial.State) bool {
				return slices.ContainsFunc(s.Workload.Mounts, func(m container.Mount) bool { return m.Source == path })
			})
			if !mounted {
				stray = append(stray, fmt.Errorf("%s is mounted nowhere", path))
			}
		}
	}
	return errors.Join(stray...)
}

func (w *world) found(pattern string) []string {
	w.Helper()
	paths, err := filepath.Glob(filepath.Join(w.state, pattern))
	if err != nil {
		w.Fatal(err)
	}
	return paths
}

// torn tells of result files that do not hold all that they were seen to hold, or end in
// the midst of a line.
func (v *vigil) torn() error {
	for _, name := range v.files() {
		text, err := os.ReadFile(filepath.Join(v.specs, name))
		if err != nil || !bytes.HasPrefix(text, v.lines[name]) || !bytes.HasSuffix(text, []byte("\n")) {
			return fmt.Errorf("%s has %d bytes, and had %d: %w", name, len(text), len(v.lines[name]), err)
		}
	}
	return nil
}

// over stops the daemon, when everything has come to its end, and checks that it leaves
// only what it keeps.
func (v *vigil) over() {
	v.Helper()
	v.look()
	v.terminate()
	v.noContainerIsLeft()
	v.launched = time.Now().Add(time.Hour) // everything is from before
	if err := errors.Join(v.strayFiles(nil), v.strayResources(), v.torn()); err != nil {
		v.Error(err)
	}
	for _, path := range v.found("*.sock") {
		v.Errorf("%s was left", path)
	}
}

// rounds are all that was sent to the judge, by trial in order, as it is stored.
func (w *world) rounds() map[string][]judge.Submission {
	w.Helper()
	s, err := store.Open(w.Context(), w.state, store.Options{ReadOnly: true})
	if err != nil {
		w.Fatal(err)
	}
	all := map[string][]judge.Submission{}
	err = s.View(w.Context(), func(tx *store.Tx) error {
		rows, err := tx.SubmissionsInState(string(judge.StateReserved), string(judge.StateQueued), string(judge.StateRunning), string(judge.StateJudged))
		for _, row := range rows {
			var one judge.Submission
			if err := json.Unmarshal(row.Data, &one); err != nil {
				return err
			}
			all[one.Trial] = append(all[one.Trial], one)
		}
		return err
	})
	if err := errors.Join(err, s.Close()); err != nil {
		w.Fatal(err)
	}
	return all
}

// settledWell checks all that holds of result files whose runs are finished, whatever
// happened meanwhile: one verdict each, none of them the machinery's, in the first try.
func (v *vigil) settledWell(names ...string) {
	v.Helper()
	for _, name := range names {
		all := v.history(name)
		rounds := v.rounds()
		v.oneVerdictEach(all)
		v.everyRoundHasItsVerdict(all)
		for _, r := range ofType("trial.finished", all) {
			if r.Try != 1 || r.Status != "resolved" && r.Status != "unresolved" {
				v.Errorf("%s: trial %s ended %s (%s) in try %d", name, r.Trial, r.Status, r.Reason, r.Try)
			}
			v.reported(all, rounds[r.Trial])
			v.oneLife(r.Trial)
			v.patientRefusals(r.Trial)
		}
	}
}

// reported fails unless what is stored of a trial's rounds is what its result file tells.
func (w *world) reported(all []record, rounds []judge.Submission) {
	w.Helper()
	for _, sub := range rounds {
		if sub.State != judge.StateJudged || sub.Report.Status == judge.StatusError {
			w.Errorf("round %s of %s is %s: %+v", sub.Round, sub.Trial, sub.State, sub.Report)
		}
		told := slices.ContainsFunc(all, func(r record) bool {
			return r.Type == "submission" && r.Trial == sub.Trial && r.Round == sub.Round
		})
		if told == (sub.Kind == judge.KindPrivate) {
			w.Errorf("round %s of %s: told of is %t", sub.Round, sub.Trial, told)
		}
	}
}

// limitsHeld fails unless the agent of a trial got exactly the rounds that it may have, and
// no two of them within the cooldown.
func (w *world) limitsHeld(id string, limit int, cooldown time.Duration) {
	w.Helper()
	var last time.Time
	count := 0
	for _, sub := range w.rounds()[id] {
		if sub.Kind != judge.KindAgent {
			continue
		}
		if pause := sub.AcceptedAt.Sub(last); pause < cooldown {
			w.Errorf("%s came %s after the round before it, and the cooldown is %s", sub.Round, pause, cooldown)
		}
		last = sub.AcceptedAt
		count++
	}
	if count != limit {
		w.Errorf("trial %s has %d rounds of its agent, want %d", id, count, limit)
	}
}

var (
	step     = regexp.MustCompile(`(?m)^step (\d+) of (\d+)$`)
	accepted = regexp.MustCompile(`(?m)^Accepted as round (\S+), submission (\S+)$`)
	refusal  = regexp.MustCompile(`(?m)^cooldown: wait (\d+) seconds .*\nrefused at (\d+)$`)
	cooldown = regexp.MustCompile(`(?m)^cooldown of (\d+)$`)
)

// oneLife fails unless one process wrote the whole log of an agent that counts its steps.
func (w *world) oneLife(id string) {
	w.Helper()
	log := w.agentLog(id)
	steps := step.FindAllStringSubmatch(log, -1)
	for i, s := range steps {
		if s[1] != strconv.Itoa(i+1) || s[2] != steps[0][2] {
			w.Errorf("trial %s: step %d reads %q", id, i+1, s[0])
		}
	}
	if strings.Count(log, "born ") > 1 || strings.Contains(log, "submit failed") || strings.Contains(log, "\x00") {
		w.Errorf("the agent of %s wrote\n%s", id, log)
	}
}

// keptCounting fails unless one process wrote the whole log of a climber.
func (w *world) keptCounting(trial string) {
	w.Helper()
	w.oneLife(trial)
	log := w.agentLog(trial)
	if steps := step.FindAllString(log, -1); len(steps) != 8 || !strings.Contains(log, "born ") {
		w.Errorf("trial %s made %d steps:\n%s", trial, len(steps), log)
	}
}

// patientRefusals fails if an agent was ever told to wait beyond the end of the cooldown
// that its last accepted round began.
func (w *world) patientRefusals(id string) {
	w.Helper()
	log := w.agentLog(id)
	said := cooldown.FindStringSubmatch(log)
	if said == nil {
		return
	}
	pause, _ := strconv.Atoi(said[1])
	rounds := slices.DeleteFunc(w.rounds()[id], func(s judge.Submission) bool { return s.Kind != judge.KindAgent })
	for _, m := range refusal.FindAllStringSubmatch(log, -1) {
		wait, _ := strconv.ParseInt(m[1], 10, 64)
		at, _ := strconv.ParseInt(m[2], 10, 64)
		ends := time.Unix(at+wait, 0)
		before := slices.DeleteFunc(slices.Clone(rounds), func(s judge.Submission) bool { return s.AcceptedAt.After(time.Unix(at+1, 0)) })
		if len(before) == 0 {
			w.Errorf("trial %s was refused before its first round: %q", id, m[0])
			continue
		}
		last := before[len(before)-1].AcceptedAt.Add(time.Duration(pause) * time.Second)
		if late := ends.Sub(last); late > 3*time.Second {
			w.Errorf("trial %s: %q is %s beyond the cooldown of %s", id, m[0], late, before[len(before)-1].Round)
		}
	}
}

// history waits until the file tells of the run's end and returns all of it.
func (w *world) history(file string) []record {
	w.Helper()
	w.recorded(file, "the run's end", func(r record) bool { return r.Type == "run.finished" })
	return w.records(file)
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
	for _, round := range slices.Sorted(maps.Keys(judged)) {
		w.Errorf("round %s was judged and never acknowledged", round)
	}
}
