package daemon_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/fault"
	"github.com/assayd/assayd/runtime/gateway/modeltest"
)

// modelKey is what the scripted provider wants, and what no container may hold.
const modelKey = "sk-the-key-that-stays-home"

// knows has the world's daemons know a scripted provider under the names of both protocols.
func (w *world) knows(script modeltest.Script) *modeltest.Server {
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
func (w *world) shareLayers() {
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
func (w *world) roomy() string {
	return strings.Replace(w.benchmark(), "cpus   = 0.25\n      memory = \"256MiB\"", "cpus   = 0.5\n      memory = \"1500MiB\"", 1)
}

// The real programs of others, each of its pinned version and without a network: they solve a
// task by calls of tools, submit, get feedback, and submit again; when they want to stop, the
// hook sends those that have one back, and the others are resumed, until the policy lets go.
// The key of their provider is nowhere.
func TestAgentProgramsWorkOffline(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.crowded()
	server := w.knows(modeltest.Shell(
		"env; cat /proc/*/environ /proc/*/cmdline; echo 3 > src/level && assay-submit", modeltest.Stop,
		"echo 7 > src/level && assay-submit", modeltest.Stop, "assay-submit --time"))
	w.shareLayers()
	w.write("r.hcl", w.roomy()+w.run("real", []string{
		`agent "claude-code" { model = "scripted" }`, `agent "codex" { model = "scripted" }`, `agent "opencode" { model = "scripted" }`,
	}, `timeout = "10m"`, `parallel = 3`, `auto_eval = "0s"`, `idle = 2`, `keep = "always"`))
	w.serve()
	run := w.settled("run.real", 6*time.Minute)
	if len(run.Trials) != 3 {
		t.Errorf("there are %d trials", len(run.Trials))
	}
	var input, output int64
	for _, trial := range run.Trials {
		if trial.Status != "unresolved" || trial.Reason != "idle" {
			t.Errorf("trial %s (%s): %s %s, %s\n%s", trial.ID, trial.Agent, trial.Status, trial.Reason, trial.Detail, w.agentLog(trial.ID))
		}
		if rounds := w.rounds()[trial.ID]; len(rounds) < 2 || trial.Best == "" {
			t.Errorf("trial %s (%s) has %d rounds, the best is %q", trial.ID, trial.Agent, len(rounds), trial.Best)
		}
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

// keyIsNowhere looks for the provider's key in everything that the daemon keeps, and in all
// containers.
func (w *world) keyIsNowhere() {
	w.Helper()
	err := filepath.WalkDir(w.state, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		if err == nil && strings.Contains(string(text), modelKey) {
			w.Errorf("the key is in %s", path)
		}
		return err
	})
	if err != nil {
		w.Fatal(err)
	}
	for _, pattern := range []string{"*.jsonl", "../daemon-*.log"} {
		files, _ := filepath.Glob(filepath.Join(w.specs, pattern))
		for _, path := range files {
			if text, err := os.ReadFile(path); err != nil || strings.Contains(string(text), modelKey) {
				w.Errorf("the key is in %s (%v)", path, err)
			}
		}
	}
	all, err := w.engine.Observe(w.Context(), w.owner)
	if err != nil || len(all) == 0 {
		w.Fatalf("%d containers are kept, %v", len(all), err)
	}
	for _, c := range all {
		for _, dir := range []string{"/root", "/tmp", "/var", "/etc", "/workspace", "/.assayd/state"} { // where things can be written by agents and by us
			var text []byte
			w.until("the engine gives "+dir+" of "+c.Name, func() error { // it cannot mount for two copies that follow each other closely
				files, err := w.engine.CopyFrom(w.Context(), c.ID, dir)
				if errors.Is(err, container.ErrNotFound) {
					return nil
				}
				if err != nil {
					return err
				}
				text, err = io.ReadAll(files)
				return errors.Join(err, files.Close())
			})
			if bytes.Contains(text, []byte(modelKey)) {
				w.Errorf("the key is in %s of the container %s", dir, c.Name)
			}
		}
	}
}

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
	run := c.settled("run.talk", time.Minute)
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
	w := newWorld(t)
	w.knows(modeltest.Shell("git log --all -p -S answer", "find / -name check.sh; cat tests/check.sh", "echo 10 > src/level"))
	w.write("r.hcl", w.benchmark()+w.worker()+w.run("cheat", []string{`agent "worker" { model = "scripted" }`},
		`timeout = "3m"`, `auto_eval = "0s"`, `resume { max = 0 }`))
	w.serve()
	trial := w.settled("run.cheat", 2*time.Minute).Trials[0]
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
