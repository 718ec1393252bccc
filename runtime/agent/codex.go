package agent

import (
	"cmp"

	"github.com/assayd/assayd/runtime/task"
)

// codex is OpenAI's Codex, without anybody to ask. Everything is told on the command line,
// in the settings of 0.169; it resumes the last session of the folder, or begins one.
func codex(a Agent, t task.Task, s Setting) Launch {
	options := []string{
		"--json", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox",
		"-c", `model_provider="assayd"`,
		"-c", `model_providers.assayd={name="assayd",base_url="` + s.openAI() + `",env_key="OPENAI_API_KEY",wire_api="responses"}`,
		"-c", "check_for_update_on_startup=false",
	}
	if a.Model != "" {
		options = append(options, "-m", "{{.Model}}")
	}
	if effort := cmp.Or(efforts[a.Effort].openAI, a.Effort); effort != "" {
		options = append(options, "-c", "model_reasoning_effort="+tomlString(effort))
	}
	if t.Network.Mode != "open" {
		options = append(options, "-c", `web_search="disabled"`)
	}
	return Launch{
		Command: append(append([]string{"{{.Program}}", "exec"}, options...), prompt(t)),
		Resume:  append(append([]string{"{{.Program}}", "exec", "resume", "--last"}, options...), again),
		Env:     Environment(a, t, s),
	}
}
