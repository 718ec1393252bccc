//go:build linux

package daemon_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/assayd/assayd/reconcile/query"
	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/fault"
	"github.com/assayd/assayd/runtime/gateway/modeltest"
	"github.com/assayd/assayd/runtime/guest/protocol"
)

// modelKey is what the scripted provider wants, and what no container may hold.
const modelKey = "sk-the-key-that-stays-home"

// knows has the world's daemons know a scripted provider under the names of both protocols.
func (w *fixture) knows(script modeltest.Script) *modeltest.Server {
	w.Helper()
	server := modeltest.New(w.T, script)
	server.RequireKey(modelKey)
	for name, base := range map[string]string{"openai": server.URL + "/v1", "anthropic": server.URL} {
		w.configured(fmt.Sprintf(`
provider %q {
  base_url = %q
  api_key  = %q
  prices   = { "scripted" = { input = 10, output = 100 } }
}
`, name, base, modelKey))
	}
	return server
}

// shareLayers has the world's daemon keep agent programs where all tests find them: they are
// downloaded once.
func (w *fixture) shareLayers() {
	w.Helper()
	cache, err := os.UserCacheDir()
	if err == nil {
		cache = filepath.Join(cache, "assayd-test", "layers")
		err = errors.Join(os.MkdirAll(cache, 0o755), os.MkdirAll(w.state, 0o755), os.Symlink(cache, filepath.Join(w.state, "layers")))
	}
	if err != nil {
		w.Fatal(err)
	}
}

// roomy is the world's benchmark with room for the programs of others.
func (w *fixture) roomy() string {
	return strings.Replace(w.benchmark(), "cpus   = 0.25\n      memory = \"256MiB\"", "cpus   = 0.5\n      memory = \"1500MiB\"", 1)
}

// stubborn are the steps of a model that wants to stop too early, twice, and then has nothing
// left to do. At its first step and its last it writes down what a process can see.
func stubborn() modeltest.Script {
	return modeltest.Shell(
		look+"; echo 3 > src/level && assay-submit", modeltest.Stop,
		"echo 7 > src/level && assay-submit", modeltest.Stop, look+"; assay-submit --time")
}

// look keeps all environments and command lines of a container in a file of it.
const look = "{ env; cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline; } >>/var/tmp/seen 2>/dev/null"

// The real programs of others, each of its pinned version and without a network: they solve a
// task by calls of tools, submit, get feedback, and submit again; when they want to stop, the
// hook sends those that have one back, and the others are resumed, until the policy lets go.
// The key of their provider is nowhere.
func TestAgentProgramsWorkOffline(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.crowded()
	server := w.knows(stubborn())
	w.shareLayers()
	w.write("r.hcl", w.roomy()+w.run("real", []string{
		`agent "claude-code" { model = "scripted" }`, `agent "codex" { model = "scripted" }`, `agent "opencode" { model = "scripted" }`,
	}, `timeout = "10m"`, `parallel = 3`, `auto_eval = "0s"`, `idle = 2`, `keep = "always"`))
	w.serve()
	run := w.sentBack("real", map[string]bool{"claude-code": true, "codex": true, "opencode": false})
	var input, output int64
	for _, trial := range run.Trials {
		if trial.Usage == nil || trial.Usage.EstimatedTokens != 0 || trial.Usage.CostUSD == 0 {
			t.Fatalf("trial %s used %+v", trial.ID, trial.Usage)
		}
		input, output = input+trial.Usage.InputTokens, output+trial.Usage.OutputTokens
		if _, err := os.Stat(filepath.Join(w.state, "trials", trial.ID, "try-1", "trajectory.json")); err != nil {
			t.Errorf("the trajectory of %s: %v", trial.Agent, err)
		}
	}
	if told := server.Usage(); input != int64(told.Prompt()) || output != int64(told.Output) {
		t.Errorf("%d and %d tokens are counted, %d and %d were told", input, output, told.Prompt(), told.Output)
	}
	w.keyIsNowhere()
}

// An agent that is declared in a spec has the same powers: its program asks the hook that its
// declaration names, and stays; without one it is resumed.
func TestADeclaredAgentIsSentBackByItsHook(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.crowded()
	w.knows(stubborn())
	agents, hooked := w.worker(), map[string]bool{"worker": false}
	asked := []string{`agent "worker" { model = "scripted" }`}
	for _, hook := range []string{"claude", "codex"} {
		name := "asks-" + hook
		agents += strings.NewReplacer(`agent "worker"`, fmt.Sprintf("agent %q", name), "api  ", fmt.Sprintf("stop_hook = %q\n  api", hook)).Replace(w.worker())
		asked = append(asked, fmt.Sprintf(`agent %q { model = "scripted" }`, name))
		hooked[name] = true
	}
	w.write("r.hcl", w.benchmark()+agents+w.run("own", asked, `timeout = "5m"`, `parallel = 3`, `auto_eval = "0s"`, `idle = 2`))
	w.serve()
	w.sentBack("own", hooked)
}

// sentBack waits for the end of a run whose agents wanted to stop too early, each of which has
// a hook or has none: all worked on until the policy let go, those with a hook in the process
// that they began in, and the others in a new one each time.
func (w *fixture) sentBack(name string, hooked map[string]bool) query.RunStatus {
	w.Helper()
	run := w.settled("run."+name, 12*time.Minute)
	if len(run.Trials) != len(hooked) {
		w.Errorf("there are %d trials, want %d", len(run.Trials), len(hooked))
	}
	all := w.history("r.run." + name + ".jsonl")
	for _, trial := range run.Trials {
		said := w.agentLog(trial.ID)
		if trial.Status != "unresolved" || trial.Reason != "idle" {
			w.Errorf("trial %s (%s): %s %s, %s\n%s", trial.ID, trial.Agent, trial.Status, trial.Reason, trial.Detail, said)
		}
		if rounds := w.rounds()[trial.ID]; len(rounds) < 2 || trial.Best == "" {
			w.Errorf("trial %s (%s) has %d rounds, the best is %q", trial.ID, trial.Agent, len(rounds), trial.Best)
		}
		transcript, err := os.ReadFile(filepath.Join(w.state, "trials", trial.ID, "try-1", "transcript.jsonl"))
		if err != nil {
			w.Fatal(err)
		}
		// Sent back after each of two early stops, and after the first of two with nothing left to do.
		told, resumed := bytes.Count(transcript, []byte("Do not stop yet.")), resumes(all, trial.ID)
		if hooked[trial.Agent] && (told < 3 || resumed != 0) || !hooked[trial.Agent] && (told != 0 || resumed < 3) {
			w.Errorf("trial %s (%s, with a hook: %v) was sent back %d times and resumed %d times\n%s", trial.ID, trial.Agent, hooked[trial.Agent], told, resumed, said)
		}
	}
	return run
}

// keyIsNowhere looks for the provider's key in everything that the daemon keeps, in all
// containers, and in their images.
func (w *fixture) keyIsNowhere() {
	w.Helper()
	for _, root := range []string{w.state, filepath.Join(w.state, "layers") + "/"} { // the latter may be a link
		err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
			if errors.Is(err, os.ErrNotExist) {
				return nil // other tests share the layers
			}
			if err == nil && d.Type().IsRegular() {
				w.keyIsNotIn(path)
			}
			return err
		})
		if err != nil {
			w.Fatal(err)
		}
	}
	for _, pattern := range []string{"*.jsonl", "../daemon-*.log"} {
		files, _ := filepath.Glob(filepath.Join(w.specs, pattern))
		if len(files) == 0 {
			w.Errorf("there is no %s", pattern)
		}
		for _, path := range files {
			w.keyIsNotIn(path)
		}
	}
	var all []container.Instance
	w.until("only what is kept is there", func() (err error) {
		if all, err = w.engine.Observe(w.Context(), w.owner); err != nil {
			return err
		}
		for _, c := range all {
			if c.Phase != container.PhaseExited {
				return fmt.Errorf("%s still runs", c.Name)
			}
		}
		return nil
	})
	if len(all) == 0 {
		w.Fatal("no container is kept")
	}
	var images []string
	for _, c := range all {
		w.keyIsNotPrinted(nil, "inspect", c.ID)
		// So that there is what is searched: an environment, with the key for the agent, and a command line.
		seen := []string{"\x00ASSAYD_DEADLINE=", "_API_KEY=assayd-has-the-key\x00", protocol.Program + "\x00run\x00"}
		if c.Labels[container.LabelRole] == container.RoleJudge { // that of the judging that decides is kept, too
			seen = nil
		}
		w.keyIsNotPrinted(seen, "export", c.ID)
		images = append(images, strings.TrimSpace(w.docker("inspect", "--format", "{{.Image}}", c.ID)))
	}
	slices.Sort(images)
	// Their configuration, their history, and all files, those too that a later layer takes away.
	w.keyIsNotPrinted([]string{`"history"`}, append([]string{"save"}, slices.Compact(images)...)...)
}

// keyIsNotIn reads a file.
func (w *fixture) keyIsNotIn(path string) {
	w.Helper()
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return
	}
	s := search{texts: []string{modelKey}}
	if err == nil {
		_, err = io.Copy(&s, f)
		err = errors.Join(err, f.Close())
	}
	if err != nil || s.found(modelKey) {
		w.Errorf("the key is in %s: %v, %v", path, s.found(modelKey), err)
	}
}

// keyIsNotPrinted reads what a command of the engine's own client says, which must have other
// texts in it.
func (w *fixture) keyIsNotPrinted(others []string, args ...string) {
	w.Helper()
	s := search{texts: append([]string{modelKey}, others...)}
	cmd := exec.CommandContext(w.Context(), "docker", args...)
	cmd.Stdout = &s
	if err := cmd.Run(); err != nil || s.found(modelKey) {
		w.Errorf("the key is in docker %s: %v, %v", strings.Join(args, " "), s.found(modelKey), err)
	}
	for _, text := range others {
		if !s.found(text) {
			w.Errorf("docker %s does not tell of %q", strings.Join(args, " "), text)
		}
	}
}

// search looks for texts in what is written to it, which may be long.
type search struct {
	texts []string // the longest of which is far shorter than overlap
	seen  []string // of them
	end   []byte   // of what was written
}

// overlap is how much of what was written is looked at again with what follows, in bytes.
const overlap = 1 << 10

func (s *search) Write(p []byte) (int, error) {
	s.end = append(s.end, p...)
	for _, text := range s.texts {
		if !s.found(text) && bytes.Contains(s.end, []byte(text)) {
			s.seen = append(s.seen, text)
		}
	}
	s.end = append(s.end[:0], s.end[max(0, len(s.end)-overlap):]...)
	return len(p), nil
}

func (s *search) found(text string) bool { return slices.Contains(s.seen, text) }

// talker asks its model again and again until it is let go, and counts what it is told.
const talker = `
import json, os, time, urllib.request
print("born", os.getpid(), flush=True)
told = 0
while not os.path.exists("/var/tmp/go"):
    body = json.dumps({"model": "scripted", "messages": [{"role": "user", "content": "x" * 400}]}).encode()
    request = urllib.request.Request(os.environ["OPENAI_BASE_URL"] + "/chat/completions", body, {"Content-Type": "application/json"})
    try:
        usage = json.load(urllib.request.urlopen(request, timeout=60))["usage"]
    except Exception as error:
        print("again:", error, flush=True)
        time.sleep(0.2)
        continue
    told += usage["prompt_tokens"] + usage["completion_tokens"]
    print("told", told, flush=True)
    time.sleep(0.2)
`

// Wherever in an exchange with a model the daemon is killed, what the agent was told is in
// the books to the token, and what it was not told is an estimate or was never begun.
func TestACrashAtAnyPointOfAnExchangeIsNotFree(t *testing.T) {
	t.Parallel()
	c := newCrashes(t)
	server := c.knows(func(modeltest.Request) modeltest.Answer {
		return modeltest.Answer{Text: "well", Usage: modeltest.Usage{Input: 1234, Cached: 100, Output: 56}}
	})
	c.torn = "r.run.talk.jsonl"
	c.write("talker/main.py", talker)
	c.write("r.hcl", c.benchmark()+`
agent "talker" {
  dir     = "talker"
  command = "python3 /agent/main.py"
  api     = "openai"
}
`+c.run("talk", []string{`agent "talker" { model = "scripted" }`}, `timeout = "30m"`, `auto_eval = "0s"`))
	c.start()
	trial := c.begun("r.run.talk.jsonl")
	c.said(trial, "told")
	c.look()
	c.through(ofAnExchange)
	before := strings.Count(c.agentLog(trial), "told")
	c.until("the agent is answered again", func() error {
		if strings.Count(c.agentLog(trial), "told") == before {
			return errors.New("it is not")
		}
		return nil
	})
	c.letGo(trial)
	c.finished()
	run := c.settled("run.talk", 12*time.Minute)
	usage := run.Trials[0].Usage
	exact := usage.Tokens() - usage.EstimatedTokens
	answers := regexp.MustCompile(`told (\d+)\n`).FindAllStringSubmatch(c.agentLog(trial), -1)
	heard, err := strconv.ParseInt(answers[len(answers)-1][1], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	if told := server.Usage(); exact < heard || exact > int64(told.Prompt()+told.Output) || usage.EstimatedTokens == 0 {
		t.Errorf("the agent heard of %d tokens, the books have %d and estimate %d, the provider told of %d", heard, exact, usage.EstimatedTokens, told.Prompt()+told.Output)
	}
	c.over()
}

var ofAnExchange = slices.Repeat([]lap{{at: fault.ExchangeBooked}, {at: fault.ExchangeSettled}}, 2)

// Who looks for the solution where it must not be looked for is marked, with what it did; the
// verdict stays what the tests say.
func TestWhoCheatsIsMarkedAndJudgedAllTheSame(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.knows(modeltest.Shell("git log --all -p -S answer", "find / -name check.sh; cat tests/check.sh", "echo 10 > src/level"))
	w.write("r.hcl", w.benchmark()+w.worker()+w.run("cheat", []string{`agent "worker" { model = "scripted" }`},
		`timeout = "3m"`, `auto_eval = "0s"`, `resume { max = 0 }`))
	w.serve()
	trial := w.settled("run.cheat", 12*time.Minute).Trials[0]
	if trial.Status != "resolved" || !slices.Contains(trial.Flags, "cheat:future_history") || !slices.Contains(trial.Flags, "cheat:judge_paths") {
		t.Errorf("it is %s with the flags %v", trial.Status, trial.Flags)
	}
	told, err := os.ReadFile(filepath.Join(w.specs, "r.run.cheat.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(told, []byte("git log --all -p -S answer")) || !bytes.Contains(told, []byte("tests/check.sh")) {
		t.Errorf("what it did is told as %s", told)
	}
}
