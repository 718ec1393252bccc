package agent

import (
	"github.com/assayd/assayd/runtime/layer"
	"github.com/assayd/assayd/runtime/task"
)

// Agent is one agent as a run asks for it: the declared or built-in program together
// with what the run's agent block adds. All of it is part of the cell key.
type Agent struct {
	Name     string // of the declaration, "mine"
	Label    string // to have one agent twice; "" = the name
	Version  string
	Provider string
	Model    string
	Effort   string
	Command  task.Command
	Resume   task.Command // empty = never started again
	Dir      task.Tree    // mounted read-only at /agent
	Program  string       `json:",omitempty"` // a program of others, of that Version, that is mounted read-only; "" = none
	Layer    *Layer       `json:",omitempty"` // what is installed for it; nil = nothing
	API      string       // openai, anthropic, none
	Env      map[string]string
	StopHook string // claude, codex, none
	User     string // "" = the image's
}

// Layer is made once, with network, before any trial; one field is set.
type Layer struct {
	Image string   // whose file system is mounted read-only at /layer
	Setup []string // commands that are run on top of the work image, with Dir at /agent
}

// Title is what tables show: the label, or the name.
func (a Agent) Title() string {
	if a.Label != "" {
		return a.Label
	}
	return a.Name
}

// Solves reports whether the agent is handed the reference solution.
func (a Agent) Solves() bool { return a.Name == Oracle && a.Dir == task.Tree{} }

// Control reports whether the agent is a built-in one that shows what a task is worth rather
// than an agent: the oracle, or the one that does nothing. Its trials stand beside rates.
func (a Agent) Control() bool {
	argv := a.Command.Argv
	return (a.Name == Oracle || a.Name == Nop) && a.Dir == task.Tree{} && len(argv) == 2 && argv[1] == a.Name
}

// Asks reports whether the agent asks a model by the gateway.
func (a Agent) Asks() bool { return a.API != "" && a.API != "none" }

// Names of the built-in agents.
const (
	Oracle     = "oracle"
	Nop        = "nop"
	ClaudeCode = "claude-code"
	Codex      = "codex"
	OpenCode   = "opencode"
)

// Builtin returns a built-in agent: the oracle lays the known solution over the work
// directory and submits it, nop does nothing, the others are programs of others. guest is
// the guest's path in the container.
func Builtin(name, guest string) (Agent, bool) {
	switch name {
	case Oracle, Nop:
		return Agent{Name: name, API: "none", StopHook: "none", Command: task.Command{Argv: []string{guest, name}}}, true
	}
	a, ok := map[string]Agent{
		ClaudeCode: {API: "anthropic", StopHook: "claude"},
		Codex:      {API: "openai", StopHook: "codex"},
		OpenCode:   {API: "openai", StopHook: "none"},
	}[name]
	a.Name, a.Program = name, name
	a.Version, _ = layer.DefaultVersion(name)
	return a, ok
}
