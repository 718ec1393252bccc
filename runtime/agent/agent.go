package agent

import (
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
	API      string       // openai, anthropic, none
	Env      map[string]string
	StopHook string
	User     string // "" = the image's
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

// Names of the built-in agents.
const (
	Oracle = "oracle"
	Nop    = "nop"
)

// Builtin returns a built-in agent: the oracle lays the known solution over the work
// directory and submits it, nop does nothing. program is the guest's path in the
// container.
func Builtin(name, program string) (Agent, bool) {
	switch name {
	case Oracle, Nop:
		return Agent{Name: name, API: "none", StopHook: "none", Command: task.Command{Argv: []string{program, name}}}, true
	}
	return Agent{}, false
}
