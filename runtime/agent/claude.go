package agent

import (
	"cmp"
	"maps"

	"github.com/assayd/assayd/runtime/task"
)

// claudeCode is Anthropic's Claude Code, without anybody to ask. Its options are those of
// 2.1: it goes on with the last conversation of the folder, or begins one if there is none.
func claudeCode(a Agent, t task.Task, s Setting) Launch {
	common := []string{"--output-format", "stream-json", "--verbose", "--dangerously-skip-permissions"}
	if a.Model != "" {
		common = append(common, "--model", "{{.Model}}")
	}
	if effort := cmp.Or(efforts[a.Effort].claude, a.Effort); effort != "" {
		common = append(common, "--effort", effort)
	}
	if t.Network.Mode != "open" {
		common = append(common, "--disallowedTools", "WebSearch,WebFetch")
	}
	env := Environment(a, t, s)
	maps.Copy(env, map[string]string{
		"IS_SANDBOX": "1", // root may skip the questions
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
		"DISABLE_TELEMETRY":                        "1",
		"DISABLE_ERROR_REPORTING":                  "1",
		"DISABLE_AUTOUPDATER":                      "1",
	})
	if a.Model != "" { // whatever it would ask another model is asked the run's
		for _, name := range []string{
			"ANTHROPIC_MODEL", "ANTHROPIC_DEFAULT_OPUS_MODEL", "ANTHROPIC_DEFAULT_SONNET_MODEL", "ANTHROPIC_DEFAULT_HAIKU_MODEL",
			"ANTHROPIC_SMALL_FAST_MODEL", "CLAUDE_CODE_SUBAGENT_MODEL",
		} {
			env[name] = a.Model
		}
	}
	return Launch{
		Command: append([]string{"{{.Program}}", "-p", prompt(t)}, common...),
		Resume:  append([]string{"{{.Program}}", "--continue", "-p", again}, common...),
		Env:     env,
	}
}

// efforts are the words of a run for how hard a model thinks, as each program has them.
var efforts = map[string]struct{ claude, openAI string }{
	"low": {"low", "low"}, "medium": {"medium", "medium"}, "high": {"high", "high"},
	"max": {"max", "xhigh"}, "xhigh": {"xhigh", "xhigh"}, "minimal": {"low", "minimal"},
}
