package agent

import (
	"maps"
	"strings"

	"github.com/assayd/assayd/runtime/task"
)

// Launch is how an agent is started in a container. Arguments are templates over
// PromptFile, Prompt, Workdir, Model, Effort, TimeLeft and Program.
type Launch struct {
	Command []string
	Resume  []string // empty = never started again
	Env     map[string]string
	Hook    Hook // zero = none
}

// Hook is a file of the agent program's own settings that has it ask before it stops. It is
// in a folder that is mounted read-only, so that the agent cannot change it.
type Hook struct {
	Dir  string // in the container
	Name string // of the file
	Text string
}

// Begin says how an agent is started on a task.
func Begin(a Agent, t task.Task, s Setting) Launch {
	l := Launch{Command: a.Command.Args(), Resume: a.Resume.Args(), Env: Environment(a, t, s)}
	if program, ok := programs[a.Program]; ok {
		l = program(a, t, s)
		maps.Copy(l.Env, a.Env)
	}
	if s.StopHook {
		l.Hook = hooks[a.StopHook]
	}
	return l
}

// programs are the built-in agents that are programs of others, by the name of the program.
var programs = map[string]func(Agent, task.Task, Setting) Launch{
	ClaudeCode: claudeCode, Codex: codex, OpenCode: openCode,
}

// stopCommand asks the guest whether the agent may stop: it ends with 2 and says why on
// standard error if not, which both programs pass on to their model.
const stopCommand = "/.assayd/bin/assay-guest stop"

// hooks are the settings that a whole machine has of each program; both trust these. Seen to
// work with Claude Code 2.1.329 and Codex 0.169.0.
var hooks = map[string]Hook{
	"claude": {"/etc/claude-code", "managed-settings.json", hookText},
	"codex":  {"/etc/codex", "hooks.json", hookText},
}

const hookText = `{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"` + stopCommand + `","timeout":60}]}]}}` + "\n"

// maxArgument is the longest prompt that is handed over as an argument, in bytes: the kernel
// takes 128 KiB.
const maxArgument = 100 << 10

// prompt is the argument that tells a program what to do. An instruction may begin with a dash,
// which programs would take for an option.
func prompt(t task.Task) string {
	if len(t.Instruction) > maxArgument {
		return "Read the file {{.PromptFile}} and do what it asks."
	}
	return "This is your task.\n\n{{.Prompt}}"
}

// again is what a program is told when it is started again. It may have no memory of the
// first start, if that ended early enough.
const again = "Continue working: {{.TimeLeft}} seconds are left. The task and its rules are in {{.PromptFile}}; read them again if you need to. " +
	"Look at what is there, improve it, and submit with assay-submit as often as it helps."

// tomlString is a text as a string of TOML.
func tomlString(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < ' ' || r == 0x7f:
			b.WriteByte(' ') // no name of a model has any
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
