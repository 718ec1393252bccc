package agent

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/runtime/task"
)

// How each program is started, word for word: its golden file is what was seen to work.
func TestPrograms(t *testing.T) {
	open := someTask()
	open.Network.Mode = "open"
	for _, tt := range []struct {
		name    string
		agent   string
		model   string
		effort  string
		task    task.Task
		setting Setting
	}{
		{"claude-code", ClaudeCode, "claude-opus-4-8", "max", someTask(), Setting{StopHook: true}},
		{"claude-code-open", ClaudeCode, "", "", open, Setting{}},
		{"codex", Codex, "gpt-5.5", "max", someTask(), Setting{StopHook: true}},
		{"codex-open", Codex, "", "", open, Setting{}},
		{"opencode", OpenCode, "kimi/k2", "high", someTask(), Setting{StopHook: true, Protocol: "openai"}},
		{"opencode-anthropic", OpenCode, "claude", "high", open, Setting{Protocol: "anthropic"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a, ok := Builtin(tt.agent, "/guest")
			if !ok || a.Version == "" || !a.Asks() {
				t.Fatalf("%v %+v", ok, a)
			}
			a.Model, a.Effort, a.Env = tt.model, tt.effort, map[string]string{"MINE": "wins"}
			tt.setting.Trial, tt.setting.JudgeURL = "r.e1.aaaaaaaa", "http://127.0.0.1:7433"
			l := Begin(a, tt.task, tt.setting)
			for name := range Environment(Agent{}, tt.task, tt.setting) {
				delete(l.Env, name) // what every agent has
			}
			got, err := json.MarshalIndent(l, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			golden := filepath.Join("testdata", "launch-"+tt.name+".json")
			if *update {
				if err := os.WriteFile(golden, append(got, '\n'), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(got)+"\n"); diff != "" {
				t.Errorf("run with -update if this is meant:\n%s", diff)
			}
		})
	}
}

// A declared agent has its own command, the variables of its protocol, and the hook it names.
func TestADeclaredAgentIsStartedAsItSays(t *testing.T) {
	a := Agent{Name: "mine", Command: task.Command{Argv: []string{"run"}}, Resume: task.Command{Argv: []string{"go", "on"}}, API: "anthropic", StopHook: "codex"}
	l := Begin(a, someTask(), Setting{JudgeURL: "http://127.0.0.1:7433", StopHook: true})
	if diff := cmp.Diff([]string{"go", "on"}, l.Resume); diff != "" || l.Hook.Dir != "/etc/codex" || l.Env["ANTHROPIC_BASE_URL"] != "http://127.0.0.1:7433/anthropic" {
		t.Errorf("%s %+v", diff, l)
	}
	if l = Begin(a, someTask(), Setting{}); l.Hook != (Hook{}) {
		t.Errorf("a run without stop hooks has one: %+v", l.Hook)
	}
}

// A prompt that no argument holds is read from its file.
func TestALongPromptIsReadFromItsFile(t *testing.T) {
	long := someTask()
	long.Instruction = strings.Repeat("x", maxArgument+1)
	for _, name := range []string{ClaudeCode, Codex, OpenCode} {
		a, _ := Builtin(name, "/guest")
		if line := strings.Join(Begin(a, long, Setting{}).Command, " "); !strings.Contains(line, "{{.PromptFile}}") || strings.Contains(line, "{{.Prompt}}") {
			t.Errorf("%s: %s", name, line)
		}
	}
}

func TestThePromptTellsTheLimits(t *testing.T) {
	listed := someTask()
	listed.Network = task.Network{Mode: "allow", Allow: []string{"pypi.org:443"}}
	got := Prompt(listed, time.Hour, Setting{USD: 300, Tokens: 5_000_000})
	for _, want := range []string{"300.00 USD and 5000000 tokens", "`pypi.org:443`", "assay-submit --time"} {
		if !strings.Contains(got, want) {
			t.Errorf("it does not say %q:\n%s", want, got)
		}
	}
}

func TestTomlString(t *testing.T) {
	if got := tomlString("a\"b\\c\nd"); got != `"a\"b\\c d"` {
		t.Error(got)
	}
}
