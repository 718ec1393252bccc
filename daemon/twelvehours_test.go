//go:build linux

package daemon_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/assayd/assayd/runtime/fault"
	"github.com/assayd/assayd/runtime/gateway/modeltest"
)

// worker is an agent of our own that works as those of others do: its model calls a shell,
// its session is a file, it goes on with that when it is started again, and the hook that the
// settings of a machine have says whether it may stop.
const worker = `
import glob, json, os, subprocess, sys, urllib.request
def refused():
    for settings in glob.glob("/etc/claude-code/managed-settings.json") + glob.glob("/etc/codex/hooks.json"):
        for hook in json.load(open(settings))["hooks"]["Stop"][0]["hooks"]:
            said = subprocess.run(hook["command"], shell=True, input="{}", stderr=subprocess.PIPE, text=True, timeout=hook["timeout"])
            if said.returncode == 2:
                return said.stderr
session, again = "/var/tmp/session.json", len(sys.argv) > 1
messages = []
if again and os.path.exists(session):
    messages = json.load(open(session)) + [{"role": "user", "content": "Go on."}]
else:
    messages = [{"role": "user", "content": open(os.environ["ASSAYD_PROMPT_FILE"]).read()}]
print("start with", len(messages), "messages", flush=True)
tools = [{"type": "function", "function": {"name": "bash", "parameters": {"type": "object", "properties": {"command": {"type": "string"}}}}}]
while True:
    body = json.dumps({"model": os.environ["ASSAYD_MODEL"], "messages": messages, "tools": tools}).encode()
    request = urllib.request.Request(os.environ["OPENAI_BASE_URL"] + "/chat/completions", body, {"Content-Type": "application/json"})
    answer = json.load(urllib.request.urlopen(request, timeout=300))["choices"][0]["message"]
    messages.append(answer)
    for call in answer.get("tool_calls") or []:
        done = subprocess.run(json.loads(call["function"]["arguments"])["command"], shell=True, capture_output=True, text=True)
        messages.append({"role": "tool", "tool_call_id": call["id"], "content": done.stdout[-2000:] + done.stderr[-500:]})
    with open(session + ".new", "w") as f:
        json.dump(messages, f)
    os.replace(session + ".new", session)
    if not answer.get("tool_calls"):
        why = refused()
        if not why:
            break
        messages.append({"role": "user", "content": why})
print("stop", flush=True)
`

// worker declares the agent, with a command that goes on.
func (w *fixture) worker() string {
	w.write("worker/main.py", worker)
	return `
agent "worker" {
  dir            = "worker"
  command        = "python3 /agent/main.py"
  resume_command = "python3 /agent/main.py again"
  api            = "openai"
}
`
}

// hour is how long an hour of this test is.
const hour = 10 * time.Second

// twelveHours are twelve hours, each ten seconds long: the agent crashes each hour, its model is away for two
// of them, the daemon is killed, and replaced by another version, and its disk fills up. In
// the end there is the whole curve, a right verdict, and every token in the books.
func twelveHours(t *testing.T) {
	t.Helper()
	w := newFixture(t)
	w.breakable()
	full := filepath.Join(filepath.Dir(w.state), "full")
	w.env = append(w.env, "ASSAYD_FAULT_FULL_FILE="+full, "ASSAYD_FAULT_FULL_WHILE="+full)
	var steps []string
	for level := 1; level <= 10; level++ {
		steps = append(steps, fmt.Sprintf("echo %d > src/level", level), "sleep 4", "assay-submit")
	}
	var away atomic.Bool
	shell := modeltest.Shell(steps...)
	server := w.knows(func(r modeltest.Request) modeltest.Answer {
		if away.Load() {
			return modeltest.Answer{Status: 503, Message: "away"}
		}
		return shell(r)
	})
	w.write("r.hcl", w.benchmark()+w.worker()+w.run("long", []string{`agent "worker" { model = "scripted" }`},
		fmt.Sprintf("timeout = %q", 12*hour+5*time.Minute), `auto_eval = "10s"`, `idle = 2`, "resume {\n    backoff = \"20ms\"\n  }"))
	w.serve()
	var trial string
	w.until("the trial has begun", func() error {
		started := ofType("trial.started", w.records("r.run.long.jsonl"))
		if len(started) == 0 {
			return errors.New("it has not")
		}
		trial = started[0].Trial
		return nil
	})
	w.said(trial, "start with 1 messages")
	deadline := ofType("trial.started", w.records("r.run.long.jsonl"))[0].Deadline
	trouble := map[int]func(){
		2: func() { away.Store(true) },
		4: func() { away.Store(false) },
		5: func() { w.kill(); w.serve() },
		6: func() { w.upgraded() },
		8: func() { w.put(full, string(fault.WriteBlob)) },
		9: func() {
			if err := os.Remove(full); err != nil {
				t.Error(err)
			}
		},
	}
	tick := time.NewTicker(hour)
	defer tick.Stop()
	crashes := 0
	for n := 1; n <= 12; n++ {
		<-tick.C
		if do := trouble[n]; do != nil {
			do()
		}
		run, err := w.status("run.long")
		if err == nil && run.State == "finished" {
			break
		}
		b := w.bodies()[trial]
		if b.Agent == "" {
			continue // it rests before it is started again, which is longer for hours so short
		}
		w.inside(b.ID, `for p in /proc/[0-9]*; do case "$(tr '\0' ' ' <$p/cmdline 2>/dev/null)" in "python3 /agent/main.py"*) kill -9 ${p#/proc/};; esac; done; true`)
		crashes++
	}
	run := w.settled("run.long", 12*time.Minute)
	got := run.Trials[0]
	if got.Status != "resolved" || got.Try != 1 || !got.Deadline.Equal(deadline) {
		t.Errorf("trial %s: %s %s in try %d, its deadline %s was %s: %s", trial, got.Status, got.Reason, got.Try, got.Deadline, deadline, got.Detail)
	}
	all := w.history("r.run.long.jsonl")
	if resumed := ofType("trial.resumed", all); len(resumed) < crashes || crashes < 5 {
		t.Errorf("the agent crashed %d times and was resumed %d times", crashes, len(resumed))
	}
	rates := map[float64]bool{}
	for _, round := range got.Rounds {
		if round.Report == nil {
			t.Errorf("round %s has no verdict", round.Round)
			continue
		}
		rates[round.Report.PassRate] = true
	}
	if len(rates) < 8 || !rates[1] {
		t.Errorf("the curve has the rates %v", rates)
	}
	told := server.Usage()
	if exact := got.Usage.Tokens() - got.Usage.EstimatedTokens; exact > int64(told.Prompt()+told.Output) || exact < int64(told.Prompt()+told.Output)*8/10 {
		t.Errorf("the books have %+v, the provider told of %+v", got.Usage, told)
	}
	w.noContainerIsLeft()
}

// put writes a small file at once.
func (w *fixture) put(path, text string) {
	w.Helper()
	if err := errors.Join(os.WriteFile(path+".new", []byte(text), 0o600), os.Rename(path+".new", path)); err != nil {
		w.Fatal(err)
	}
}

// upgraded stops the daemon as systemd does, and starts another version of the program.
func (w *fixture) upgraded() {
	w.Helper()
	other := filepath.Join(filepath.Dir(w.state), "assayd-next")
	if err := buildProgram(other, "-tags", "faults", "-ldflags", "-X main.version=next"); err != nil {
		w.Fatal(err)
	}
	w.terminate()
	w.program = other
	w.serve()
}

// An agent that is killed in the middle goes on with its own session: its model sees what was
// said before, and it goes by the same name.
func TestAnAgentProgramThatIsKilledGoesOnWithItsSession(t *testing.T) {
	t.Parallel()
	killedInTheMiddle(t, "worker")
}

// killedInTheMiddle kills each of these agents while it waits for a tool.
func killedInTheMiddle(t *testing.T, agents ...string) {
	t.Helper()
	w := newFixture(t)
	w.crowded()
	was := map[string]chan struct{}{} // by agent, closed when it was killed
	for _, name := range agents {
		was[name] = make(chan struct{})
	}
	steps := modeltest.Shell(
		"echo 4 > src/level && assay-submit", "touch /var/tmp/waiting; until [ -e /var/tmp/go ]; do sleep 0.2; done",
		"echo 10 > src/level && assay-submit")
	server := w.knows(func(r modeltest.Request) modeltest.Answer {
		if r.Results() == 2 { // there are programs that ask what to do while a tool works for long
			select {
			case <-was[r.Model]:
			case <-t.Context().Done():
			}
		}
		return steps(r)
	})
	w.shareLayers()
	var asked []string // each its own model, by which its conversations are known
	for _, name := range agents {
		asked = append(asked, fmt.Sprintf("agent %q { model = %q }", name, name))
	}
	w.write("r.hcl", w.roomy()+w.worker()+w.run("killed", asked, `timeout = "10m"`, `parallel = 4`, `auto_eval = "0s"`, `idle = 1`))
	w.serve()
	trials := map[string]string{} // their agents
	w.untilWithin(4*time.Minute, "all trials have begun", func() error {
		for _, r := range ofType("trial.started", w.records("r.run.killed.jsonl")) {
			trials[r.Trial] = r.Agent
		}
		if len(trials) < len(agents) {
			return fmt.Errorf("%d have", len(trials))
		}
		return nil
	})
	killed := map[string]bool{}
	w.untilWithin(4*time.Minute, "all were killed while they wait", func() error {
		for trial, agent := range trials {
			id := w.bodies()[trial].ID
			if killed[trial] || id == "" || strings.TrimSpace(w.inside(id, "ls /var/tmp/waiting 2>/dev/null || true")) == "" {
				continue
			}
			w.inside(id, `for p in /proc/[0-9]*; do case "$(tr '\0' ' ' <$p/cmdline 2>/dev/null)" in */claude\ *|*/codex\ *|*/opencode\ *|"python3 /agent/main.py"*) kill -9 ${p#/proc/};; esac; done; touch /var/tmp/go`)
			killed[trial] = true
			close(was[agent])
		}
		if len(killed) < len(trials) {
			return fmt.Errorf("%d were", len(killed))
		}
		return nil
	})
	run := w.settled("run.killed", 12*time.Minute)
	all := w.history("r.run.killed.jsonl")
	for _, trial := range run.Trials {
		said := w.agentLog(trial.ID)
		if trial.Status != "resolved" || trial.Try != 1 || resumes(all, trial.ID) == 0 {
			t.Errorf("trial %s (%s): %s %s, resumed %d times, %s\n%s", trial.ID, trial.Agent, trial.Status, trial.Reason, resumes(all, trial.ID), trial.Detail, said)
		}
		sessions := map[string]bool{}
		for _, name := range sessionName.FindAllStringSubmatch(said, -1) {
			sessions[name[1]] = true
		}
		if trial.Agent != "worker" && len(sessions) != 1 {
			t.Errorf("trial %s (%s) had the sessions %v\n%s", trial.ID, trial.Agent, sessions, said)
		}
	}
	begun, goneOn := map[string]int{}, map[string]int{} // conversations, and what tools had brought when one was gone on with
	for _, x := range server.Exchanges() {
		r := x.Request
		if len(r.Tools) > 0 && r.Results() == 0 {
			begun[r.Model]++
		}
		again := slices.ContainsFunc(r.Turns, func(turn modeltest.Turn) bool {
			return turn.Role == "user" && (strings.Contains(turn.Text, "Continue working: ") || turn.Text == "Go on.")
		})
		if _, known := goneOn[r.Model]; again && !known && len(r.Tools) > 0 {
			goneOn[r.Model] = r.Results()
		}
	}
	for _, name := range agents {
		if begun[name] != 1 || goneOn[name] == 0 {
			t.Errorf("%s began %d conversations, and went on with %d results", name, begun[name], goneOn[name])
		}
	}
}

// sessionName finds by what name a program calls its session in its output.
var sessionName = regexp.MustCompile(`"(?:session_id|thread_id|sessionID)":"([^"]+)"`)

// resumes counts how often a trial's agent was started again.
func resumes(all []record, trial string) (n int) {
	for _, r := range ofType("trial.resumed", all) {
		if r.Trial == trial {
			n++
		}
	}
	return n
}
