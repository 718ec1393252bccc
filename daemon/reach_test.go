//go:build linux

package daemon_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/assayd/assayd/runtime/judge/round"
)

// intruder is an agent that tries to reach what is not its own.
func (w *fixture) intruder(name string, lines ...string) string {
	w.Helper()
	program, err := os.ReadFile("testdata/intruder.py")
	if err != nil {
		w.Fatal(err)
	}
	w.write(name+"/intruder.py", string(program))
	return w.agent(name, "exec python3 -u /agent/intruder.py\n", lines...)
}

// roundOf waits until a trial has a judged round of a kind, and returns its id.
func (w *fixture) roundOf(trial string, kind round.Kind) (id string) {
	w.Helper()
	w.until(fmt.Sprintf("%s has a judged round of kind %s", trial, kind), func() error {
		t, err := w.client.Trial(w.Context(), trial)
		for _, r := range t.Rounds {
			if strings.HasPrefix(r.Round, string(kind)+"-") && r.State == round.StateJudged {
				id = r.ID
				return nil
			}
		}
		return errors.Join(err, fmt.Errorf("its rounds are %+v", t.Rounds))
	})
	return id
}

// tell puts a file into the folder that is mounted into a trial's container, whole. Nothing
// is executed there: an exec may meet a freeze, on which old engines wait for ever.
func (w *fixture) tell(trial, name, text string) {
	w.Helper()
	configs, err := filepath.Glob(filepath.Join(w.state, "t", "*", "guest.json"))
	if err != nil {
		w.Fatal(err)
	}
	for _, config := range configs {
		if c, err := os.ReadFile(config); err == nil && strings.Contains(string(c), strconv.Quote(trial)) {
			file := filepath.Join(filepath.Dir(config), name)
			if err := errors.Join(os.WriteFile(file+".tmp", []byte(text), 0o644), os.Rename(file+".tmp", file)); err != nil {
				w.Fatal(err)
			}
			return
		}
	}
	w.Fatalf("trial %s has no folder", trial)
}

var intruderSays = regexp.MustCompile(`(?m)^IDENTITY (\S+) (\S+)$`)

// reached checks what an intruder has found out.
func (w *fixture) reached(log string, may []string, answers map[string]string) {
	w.Helper()
	for line := range strings.Lines(log) {
		line = strings.TrimSuffix(line, "\n")
		what, came, _ := strings.Cut(strings.TrimPrefix(line, "TRY "), ": ")
		switch {
		case strings.HasPrefix(line, "LEAK "):
			w.Error(line)
		case strings.HasPrefix(line, "TRY ") && (came == "could") != slices.Contains(may, what):
			w.Errorf("the agent %s %s", came, what)
		case strings.HasPrefix(line, "ASK "):
			name, codes, _ := strings.Cut(strings.TrimPrefix(line, "ASK "), ": ")
			name = strings.NewReplacer(" (relay)", "", " (socket)", "").Replace(name)
			want, ok := answers[name]
			if !ok {
				want = "404"
			}
			if codes != want {
				w.Errorf("%s is answered with %s, want %s", name, codes, want)
			}
		case strings.HasPrefix(line, "GUESSED ") && !strings.HasPrefix(line, "GUESSED 0 "):
			w.Error(line)
		}
	}
	if !strings.Contains(log, "\nOVER\n") {
		w.Error("the intruder did not come to its end")
	}
}

// answersOfTheJudge are those that are not 404.
func answersOfTheJudge() map[string]string {
	all := map[string]string{
		"another's history": "401", "another's history by query": "401", "its own history by another's name": "200",
		"CONNECT": "403", // it asks for a network, which this task has not
		"TRACE":   "404", "HTTP/2": "400", "an upgrade": "401", "a header with a break": "401",
		"GET //v1/status": "307", "GET /api/v1/../../v1/status": "307", "GET /api/v1/result/../../v1/status": "307", "GET /api/v1/game/../../x/new": "307",
		"a round of kind auto": "403", "a round with the other's token": "401", "a round with a path as token": "401",
		"a round in another's name": "400", "a key that is a path": "400",
		"forged hello": "200", "forged disk": "400", "forged verdict": "400", "forged judging": "400", "forged sequence": "204",
		"forged log before the first": "400",
	}
	for _, kind := range []string{"final", "manual", "private", "game", "../../x"} {
		all["a round of kind "+kind] = "400"
	}
	for _, what := range []string{"another's result", "a snapshot's result"} {
		all[what+" as the other"] = "401"
		all[what+" by absolute address"] = "403" // the same
		all[what+" behind a good one"], all[what+" smuggled"] = "200 404", "200 404"
	}
	return all
}

// TestAnAgentReachesNothingOfAnother: one agent is root in its container, one is nobody, and
// each is told all that it would need to find the other's rounds. W-1, W-2, W-3, W-12, W-13,
// W-20, W-21 of the reference.
func TestAnAgentReachesNothingOfAnother(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.write("r.hcl", w.benchmark()+w.intruder("root")+w.intruder("nobody", `user = "65534:65534"`)+
		w.run("reach", []string{`agent "root" {}`, `agent "nobody" {}`}, `timeout = "4m"`, `parallel = 2`, `auto_eval = "5s"`))
	const file = "r.run.reach.jsonl"
	w.serve()
	type inside struct{ id, token, agent, auto string }
	all := map[string]*inside{}
	for _, agent := range []string{"root", "nobody"} {
		w.until("agent "+agent+" is there", func() error {
			x, err := w.trial("run.reach", agent)
			if err != nil {
				return err
			}
			said := intruderSays.FindStringSubmatch(w.agentLog(x.ID))
			if said == nil {
				return errors.New("it has not said who it is")
			}
			all[agent] = &inside{id: x.ID, token: said[2]}
			return nil
		})
	}
	for _, x := range all {
		x.auto = w.roundOf(x.id, round.KindAuto)
		w.tell(x.id, "begin", "")
		x.agent = w.roundOf(x.id, round.KindAgent)
	}
	// Each is told of the other's rounds, and of a snapshot of its own.
	for me, x := range all {
		other := all[map[string]string{"root": "nobody", "nobody": "root"}[me]]
		w.tell(x.id, "go", fmt.Sprintf(`{"trial": %q, "token": %q, "round": %q, "auto": %q}`, other.id, other.token, other.agent, x.auto))
	}
	run := w.settled("run.reach", 2*patience)
	for me, x := range all {
		// Root may open what its own trial's guest keeps, speak in its name, and have it killed
		// when it uses up the memory. That can only harm its own trial.
		may := map[string][]string{"root": {"read the guest's notes", "speak as the guest", "move the guest to the front of it"}}[me]
		w.reached(w.agentLog(x.id), may, answersOfTheJudge())
		if log := w.agentLog(x.id); !strings.Contains(log, `"auto_submissions":0`) || !strings.Contains(log, x.agent) {
			t.Errorf("the history of %s is not its own", me)
		}
	}
	w.forgedNothing(all["root"].id, file)
	for _, x := range run.Trials {
		if x.Status != "unresolved" || x.Best == "" {
			t.Errorf("trial of %s is %s with best round %q", x.Agent, x.Status, x.Best)
		}
	}
	w.oneVerdictEach(w.history(file))
	w.noContainerIsLeft()
}

// forgedNothing: what an agent said in the guest's name has moved no deadline and is no
// record but a guest's.
func (w *fixture) forgedNothing(trial, file string) {
	w.Helper()
	all := w.history(file)
	i := slices.IndexFunc(all, func(r record) bool { return r.Type == "trial.started" && r.Trial == trial })
	told := regexp.MustCompile(`(?m)^DEADLINE (\S+)$`).FindStringSubmatch(w.agentLog(trial))
	if told == nil {
		w.Fatal("the forged hello was not answered")
	}
	if at, err := time.Parse(time.RFC3339Nano, told[1]); err != nil || !at.Equal(all[i].Deadline) {
		w.Errorf("the deadline was %s and is %s", all[i].Deadline, told[1])
	}
	for _, r := range all {
		if r.Trial == trial && (r.Type == "trial.resumed" || r.Type == "trial.event" && r.Event != "zombies" && r.Event != "log_truncated") {
			w.Errorf("a record of the agent's making: %+v", r)
		}
		if r.Trial == trial && r.Type == "trial.finished" && r.Reason != "agent_exit" {
			w.Errorf("the trial ended by %s", r.Reason)
		}
	}
}
