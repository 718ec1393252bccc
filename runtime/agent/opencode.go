package agent

import (
	"cmp"
	"encoding/json"

	"github.com/assayd/assayd/runtime/task"
)

// openCode is opencode, without anybody to ask. It has no hook for its end: it is started
// again. All its settings are in one variable; it speaks the protocol of the provider.
func openCode(a Agent, t task.Task, s Setting) Launch {
	web := "deny"
	if t.Network.Mode == "open" {
		web = "allow"
	}
	pkg, base := "@ai-sdk/openai-compatible", s.openAI()
	if s.Protocol == "anthropic" {
		pkg, base = "@ai-sdk/anthropic", s.anthropic()+"/v1"
	}
	name := cmp.Or(a.Model, "default")
	model := map[string]any{"limit": map[string]int{"context": 200_000, "output": 32_000}}
	// With Anthropic's protocol no effort can be asked for: only a spec from before that was refused has one.
	if effort := cmp.Or(efforts[a.Effort].openAI, a.Effort); effort != "" && s.Protocol != "anthropic" {
		model["options"] = map[string]string{"reasoningEffort": effort}
	}
	config, _ := json.Marshal(map[string]any{ // plain data always encodes
		"model": "assayd/" + name, "small_model": "assayd/" + name,
		"autoupdate": false, "share": "disabled",
		"permission": map[string]string{"edit": "allow", "bash": "allow", "external_directory": "allow", "webfetch": web, "websearch": web},
		"provider": map[string]any{"assayd": map[string]any{
			"npm": pkg, "options": map[string]string{"baseURL": base, "apiKey": placeholder},
			"models": map[string]any{name: model},
		}},
	})
	env := Environment(a, t, s)
	env["OPENCODE_CONFIG_CONTENT"] = string(config)
	for _, off := range []string{"OPENCODE_DISABLE_AUTOUPDATE", "OPENCODE_DISABLE_MODELS_FETCH", "OPENCODE_DISABLE_LSP_DOWNLOAD"} {
		env[off] = "1"
	}
	return Launch{
		Command: []string{"{{.Program}}", "run", "--format", "json", "--auto", prompt(t)},
		Resume:  []string{"{{.Program}}", "run", "--format", "json", "--auto", "--continue", again},
		Env:     env,
	}
}
