//go:build linux

package daemon_test

import (
	"encoding/json"
	"errors"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/judge/round"
)

// rounds are all that was sent to the judge, by trial in order, as it is stored.
func (w *fixture) rounds() map[string][]round.Submission {
	w.Helper()
	s, err := store.Open(w.Context(), w.state, store.Options{ReadOnly: true})
	if err != nil {
		w.Fatal(err)
	}
	all := map[string][]round.Submission{}
	err = s.View(w.Context(), func(tx *store.Tx) error {
		rows, err := tx.SubmissionsInState(string(round.StateReserved), string(round.StateQueued), string(round.StateRunning), string(round.StateJudged))
		for _, row := range rows {
			var one round.Submission
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
func (w *fixture) reported(all []record, rounds []round.Submission) {
	w.Helper()
	for _, sub := range rounds {
		if sub.State != round.StateJudged || sub.Report.Status == round.StatusError {
			w.Errorf("round %s of %s is %s: %+v", sub.Round, sub.Trial, sub.State, sub.Report)
		}
		told := slices.ContainsFunc(all, func(r record) bool {
			return r.Type == "submission" && r.Trial == sub.Trial && r.Round == sub.Round
		})
		if told == sub.Kind.Internal() {
			w.Errorf("round %s of %s: told of is %t", sub.Round, sub.Trial, told)
		}
	}
}

// limitsHeld fails unless the agent of a trial got exactly the rounds that it may have, and
// no two of them within the cooldown.
func (w *fixture) limitsHeld(id string, limit int, cooldown time.Duration) {
	w.Helper()
	var last time.Time
	count := 0
	for _, sub := range w.rounds()[id] {
		if sub.Kind != round.KindAgent {
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
func (w *fixture) oneLife(id string) {
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

// keptCounting fails unless one process wrote the whole log of an agent that numbers its
// steps, from the first to its end.
func (w *fixture) keptCounting(trial string) {
	w.Helper()
	w.oneLife(trial)
	log := w.agentLog(trial)
	if n := len(step.FindAllString(log, -1)); n < 2 || !strings.Contains(log, "born ") || !strings.Contains(log, "done ") {
		w.Errorf("trial %s made %d steps:\n%s", trial, n, log)
	}
}

// patientRefusals fails if an agent was ever told to wait beyond the end of the cooldown
// that its last accepted round began.
func (w *fixture) patientRefusals(id string) {
	w.Helper()
	log := w.agentLog(id)
	said := cooldown.FindStringSubmatch(log)
	if said == nil {
		return
	}
	pause, _ := strconv.Atoi(said[1])
	rounds := slices.DeleteFunc(w.rounds()[id], func(s round.Submission) bool { return s.Kind != round.KindAgent })
	for _, m := range refusal.FindAllStringSubmatch(log, -1) {
		wait, _ := strconv.ParseInt(m[1], 10, 64)
		at, _ := strconv.ParseInt(m[2], 10, 64)
		ends := time.Unix(at+wait, 0)
		before := slices.DeleteFunc(slices.Clone(rounds), func(s round.Submission) bool { return s.AcceptedAt.After(time.Unix(at+1, 0)) })
		if len(before) == 0 {
			w.Errorf("trial %s was refused before its first round: %q", id, m[0])
			continue
		}
		last := before[len(before)-1].AcceptedAt.Add(time.Duration(pause) * time.Second)
		if late := ends.Sub(last); late > 15*time.Second {
			w.Errorf("trial %s: %q is %s beyond the cooldown of %s", id, m[0], late, before[len(before)-1].Round)
		}
	}
}

// history waits until the file tells of the run's end and returns all of it.
func (w *fixture) history(file string) []record {
	w.Helper()
	w.recorded(file, "the run's end", func(r record) bool { return r.Type == "run.finished" })
	return w.records(file)
}

// everyRoundHasItsVerdict compares what agents were told with what was judged.
func (w *fixture) everyRoundHasItsVerdict(all []record) {
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
