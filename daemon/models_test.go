package daemon_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/assayd/assayd/runtime/gateway/modeltest"
)

// modelKey is what the scripted provider wants, and what no container may hold.
const modelKey = "sk-the-key-that-stays-home"

// models is a world whose daemon knows a scripted provider under the names of both protocols.
func models(t *testing.T, script modeltest.Script) (*world, *modeltest.Server) {
	t.Helper()
	w := newWorld(t)
	server := modeltest.New(t, script)
	server.RequireKey(modelKey)
	settings := filepath.Join(filepath.Dir(w.state), "assayd.hcl")
	text := fmt.Sprintf(`
provider "openai" {
  base_url = "%[1]s/v1"
  api_key  = %[2]q
  prices   = { "scripted" = { input = 10, output = 100 } }
}
provider "anthropic" {
  base_url = %[1]q
  api_key  = %[2]q
  prices   = { "scripted" = { input = 10, output = 100 } }
}
`, server.URL, modelKey)
	if err := os.WriteFile(settings, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	w.flags = append(w.flags, "--config", settings)
	return w, server
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
func TestAgentProgramsWorkOffline(t *testing.T) {
	t.Parallel()
	w, server := models(t, modeltest.Shell(
		"echo 3 > src/level && assay-submit", modeltest.Stop, "echo 7 > src/level && assay-submit", modeltest.Stop, "assay-submit --time"))
	w.shareLayers()
	w.write("r.hcl", w.roomy()+w.run("real", []string{
		`agent "claude-code" { model = "scripted" }`, `agent "codex" { model = "scripted" }`, `agent "opencode" { model = "scripted" }`,
	}, `timeout = "10m"`, `parallel = 3`, `auto_eval = "0s"`, `idle = 2`))
	w.serve()
	run := w.settled("run.real", 6*time.Minute)
	if len(run.Trials) != 3 {
		t.Errorf("there are %d trials", len(run.Trials))
	}
	for _, trial := range run.Trials {
		if trial.Status != "unresolved" || trial.Reason != "idle" {
			t.Errorf("trial %s (%s): %s %s, %s\n%s", trial.ID, trial.Agent, trial.Status, trial.Reason, trial.Detail, w.agentLog(trial.ID))
		}
	}
	for _, trial := range run.Trials {
		if rounds := w.rounds()[trial.ID]; len(rounds) < 2 || trial.Best == "" {
			t.Errorf("trial %s (%s) has %d rounds, the best is %q", trial.ID, trial.Agent, len(rounds), trial.Best)
		}
	}
	_ = server
}
