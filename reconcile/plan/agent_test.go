package plan

import (
	"strings"
	"testing"

	"github.com/assayd/assayd/config"
)

// TestAPromptIsHandedBesideTheLine: other lines stay as they are, and so do the keys of their cells.
func TestAPromptIsHandedBesideTheLine(t *testing.T) {
	if got := agentCommand(config.Command{Shell: "run {{.PromptFile}} {{.Model}}"}); got.Shell != "run {{.PromptFile}} {{.Model}}" || got.Argv != nil {
		t.Errorf("%+v", got)
	}
	got := agentCommand(config.Command{Shell: `run "{{.Prompt}}" {{.Model}}`})
	if args := got.Args(); len(args) != 5 || args[0] != "/bin/sh" || strings.Contains(args[2], "{{.Prompt}}") || !strings.Contains(args[2], "{{.Model}}") || args[4] != "{{.Prompt}}" {
		t.Errorf("%q", args)
	}
}

// A built-in agent that is declared without a command only has its program installed otherwise.
func TestABuiltInAgentKeepsItsCommand(t *testing.T) {
	install := []string{"npm install -g claude"}
	for name, tt := range map[string]struct {
		declared           config.Agent
		program, api, hook string
	}{
		"install alone": {config.Agent{Install: install, API: "anthropic", StopHook: "none"}, "claude-code", "anthropic", "claude"},
		"a command":     {config.Agent{Install: install, API: "none", StopHook: "none", Command: config.Command{Shell: "x"}}, "", "none", "none"},
	} {
		tt.declared.Name = "claude-code"
		set := &config.Set{Blocks: config.Blocks{Agents: []config.Agent{tt.declared}}}
		a, ok := agentOf(set, &config.RunAgent{Name: "claude-code"})
		if !ok || a.Program != tt.program || a.API != tt.api || a.StopHook != tt.hook || a.Layer == nil || len(a.Layer.Setup) != 1 || a.Version != "" {
			t.Errorf("%s: %+v", name, a)
		}
	}
}
