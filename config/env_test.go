package config

import (
	"strings"
	"testing"
)

// TestSpecsReadOnlyVariablesThatTheSettingsAllow goes through what a spec can ask of the daemon's
// environment.
func TestSpecsReadOnlyVariablesThatTheSettingsAllow(t *testing.T) {
	environment := map[string]string{
		"REGION": "north", "HOME": "/root", "OPENAI_API_KEY": "sk-openai-12345", "GITHUB_TOKEN": "gh-1234567",
		"TEAM_KEY": "team-key-12345", "COPY": "team-key-12345", "WRAPPED": "Bearer credential-9", "CREDENTIAL": "credential-9",
		"PROXY": "http://u:proxy-password@proxy:1", "PASSWORD": "proxy-password",
	}
	o := Options{
		Env:    func(name string) (string, bool) { text, ok := environment[name]; return text, ok },
		Secret: func(name string) (string, bool) { return "credential-9", name == "credential" },
	}
	const settings = `
env = ["REGION", "COPY", "WRAPPED", "CREDENTIAL", "PASSWORD", "GONE"]
locals { key = env("TEAM_KEY") }
provider "mine" {
  protocol = "openai"
  base_url = "http://127.0.0.1:1"
  api_key  = "${local.key}"
  proxy    = env("PROXY")
}
huggingface { token = secret("credential") }
`
	s, ds := LoadSettings("assayd.hcl", []byte(settings), o)
	if ds.HasErrors() {
		t.Fatal(ds)
	}
	const allow, secret = "add the name to env = [", "holds a secret of the settings"
	for name, want := range map[string]string{
		"REGION": "", "HOME": allow, "GONE": "the environment has no variable", "NOWHERE": allow,
		"OPENAI_API_KEY": secret, "GITHUB_TOKEN": secret, "ANTHROPIC_API_KEY": secret, "TEAM_KEY": secret, "COPY": secret,
		"WRAPPED": secret, "CREDENTIAL": secret, "PASSWORD": secret, "PROXY": secret,
	} {
		with := o
		with.Settings = s
		text := "agent \"a\" {\n  command = \"x\"\n  env     = { A = env(\"" + name + "\") }\n}\n"
		set := Load([]Input{{Path: "/specs/a.hcl", Display: "a.hcl", Root: "/specs", Text: []byte(text)}}, nil, with)
		var said strings.Builder
		if err := set.Diagnostics.WriteText(&said); err != nil {
			t.Fatal(err)
		}
		if want == "" {
			if said.Len() > 0 {
				t.Errorf("%s: %s", name, said.String())
			}
			continue
		}
		if !strings.Contains(said.String(), want) || set.Diagnostics[0].Line != 3 || set.Diagnostics[0].Column == 0 {
			t.Errorf("%s: %s, want %q with a place", name, said.String(), want)
		}
		if value := environment[name]; value != "" && name != "HOME" && strings.Contains(said.String(), value) {
			t.Errorf("%s: the message shows the secret: %s", name, said.String())
		}
	}
}

// TestSettingsAllowNoVariableThatHoldsASecret: the mistake is told where it is made.
func TestSettingsAllowNoVariableThatHoldsASecret(t *testing.T) {
	environment := map[string]string{"TEAM_KEY": "team-key-12345"}
	o := Options{Env: func(name string) (string, bool) { text, ok := environment[name]; return text, ok }}
	for _, name := range []string{"TEAM_KEY", "OPENAI_API_KEY"} {
		_, ds := LoadSettings("assayd.hcl", []byte("http { token = env(\"TEAM_KEY\") }\nenv = [\""+name+"\"]\n"), o)
		if !ds.HasErrors() || ds[0].Line != 2 || !strings.Contains(ds[0].Detail, "secret") {
			t.Errorf("%s: %v", name, ds)
		}
	}
	if _, ds := LoadSettings("assayd.hcl", []byte(`env = ["NOT A NAME"]`), o); !ds.HasErrors() {
		t.Error("a name that no variable can have is taken")
	}
}

// TestAPromptIsNoPartOfALine: what would be run is refused where it stands.
func TestAPromptIsNoPartOfALine(t *testing.T) {
	for command, fits := range map[string]bool{
		`"agent {{.Prompt}}"`: true, `["sh", "-c", "agent {{.PromptFile}}"]`: true, `["agent", "{{.Prompt}}"]`: true, `["sh", "-c", "agent \"$1\"", "sh", "{{.Prompt}}"]`: true,
		`["timeout", "9", "/bin/sh", "-ec", "agent {{.Prompt}}"]`: false, `"sh -c 'agent {{.Prompt}}'"`: false,
	} {
		for _, name := range []string{"command", "resume_command"} {
			text := "agent \"a\" {\n  " + name + " = " + command + "\n"
			if name != "command" {
				text += "  command = \"x\"\n"
			}
			set := Load([]Input{{Path: "/specs/a.hcl", Display: "a.hcl", Root: "/specs", Text: []byte(text + "}\n")}}, nil, testOptions())
			if fits != !set.Diagnostics.HasErrors() || !fits && (set.Diagnostics[0].Line != 2 || !strings.Contains(set.Diagnostics[0].Detail, "{{.PromptFile}}")) {
				t.Errorf("%s = %s: %v", name, command, set.Diagnostics)
			}
		}
	}
}

// What is stored has the secrets of the settings taken out: a spec with one in it would be another
// after the next start, and its trials would be cancelled.
func TestASpecHoldsNoSecretOfTheSettings(t *testing.T) {
	const secret = "open\"sesame"
	o := Options{Secret: func(name string) (string, bool) { return secret, name == "key" }}
	s, ds := LoadSettings("assayd.hcl", []byte("build {\n  secrets = { KEY = secret(\"key\") }\n}\n"), o)
	if ds.HasErrors() {
		t.Fatal(ds)
	}
	o.Settings = s
	for text, line := range map[string]int{
		"agent \"a\" {\n  command = \"x open\\\"sesame\"\n}\n":                              1, // put together
		"agent \"a\" {\n  command = \"x\"\n  # open\"sesame\n}\n":                           3,
		"locals { b = \"sesame\" }\nagent \"a\" {\n  command = \"open\\\"${local.b}\"\n}\n": 1,
		"agent \"a\" {\n  command = \"open sesame\"\n}\n":                                   0,
	} {
		set := Load([]Input{{Path: "/specs/a.hcl", Display: "a.hcl", Root: "/specs", Text: []byte(text)}}, nil, o)
		var said strings.Builder
		if err := set.Diagnostics.WriteText(&said); err != nil {
			t.Fatal(err)
		}
		if line == 0 != (said.Len() == 0) || line > 0 && (!strings.Contains(said.String(), "Secret in a spec") || set.Diagnostics[0].Line != line) {
			t.Errorf("%s: %s, want line %d", text, said.String(), line)
		}
		if strings.Contains(said.String(), secret) {
			t.Errorf("the message shows the secret: %s", said.String())
		}
	}
}
