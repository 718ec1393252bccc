package config

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestSettingsHaveDefaults(t *testing.T) {
	env := map[string]string{"OPENAI_API_KEY": "sk-1", "GITHUB_TOKEN": "gh", "CREDENTIALS_DIRECTORY": "/creds", "ASSAYD_LOG": "debug"}
	s := DefaultSettings(func(name string) (string, bool) { text, ok := env[name]; return text, ok })
	if s.Limits.Judge != 0.2 || s.Log.Level != "debug" || s.SecretsDir != "/creds" || len(s.GitHub.Tokens) != 1 || s.Providers["anthropic"].Protocol != "anthropic" {
		t.Errorf("unexpected %+v", s)
	}
	if key, ok := s.Providers["openai"].APIKey.Value(nil); key != "sk-1" || !ok {
		t.Error("the key of the environment is not used")
	}
}

func TestSettingsAreDecoded(t *testing.T) {
	s, diags := LoadSettings("assayd.hcl", []byte(`
watch     = ["/specs"]
state_dir = "/state"
engine "docker" { host = "unix:///run/docker.sock" }
provider "openrouter" {
  api_key             = secret("key")
  requests_per_minute = 60
  prices              = { "m" = { input = 1.25, output = 10 }, "k" = { input = 1, cache_write = 2 }, "h" = { input = 1, cache_write_1h = 3 } }
}
provider "local" {
  protocol = "openai"
  base_url = "http://127.0.0.1:8000"
  api_key  = "plain"
}
http {
  listen  = "127.0.0.1:7434"
  token   = secret("key")
  content = "metadata"
}
build {
  secrets = { PIP_TOKEN = secret("key") }
  mirrors = { pip = "https://mirror.example", git = "file:///srv/mirror" }
  keep    = "20GiB"
}
limits {
  cpus   = 8
  memory = "16GiB"
  judge  = 0.5
}
log { format = "json" }
budget {
  day { usd = 500 }
  month { usd = 9000.5 }
}
git {
  url            = "https://git.example/team/specs.git"
  path           = "specs"
  push_results   = "results"
  webhook_secret = secret("key")
}
github { base_url = "https://git.example/api/v3" }
`), testOptions())
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	if s.Budget != (HostBudget{DayUSD: 500, MonthUSD: 9000.5}) {
		t.Errorf("unexpected %+v", s.Budget)
	}
	if g := s.Git; g.URL == "" || g.Ref != "" || g.Interval != time.Minute || g.Path != "specs" || g.PushResults != "results" || g.WebhookSecret.Name() != "key" || !g.Token.IsZero() {
		t.Errorf("unexpected %+v", g)
	}
	if slices.Contains(s.Unsupported, "mining") || slices.Contains(s.Unsupported, "taking specs from Git") {
		t.Errorf("not supported are %q", s.Unsupported)
	}
	for model, want := range map[string]Price{
		"m": {Input: 1.25, Output: 10, Cached: 1.25, CacheWrite: 1.25, CacheWrite1h: 1.25},
		"k": {Input: 1, Cached: 1, CacheWrite: 2, CacheWrite1h: 2}, "h": {Input: 1, Cached: 1, CacheWrite: 1, CacheWrite1h: 3},
	} {
		if got := s.Providers["openrouter"].Prices[model]; got != want {
			t.Errorf("%s costs %+v, want %+v", model, got, want)
		}
	}
	if p := s.Providers["openrouter"]; p.APIKey.Name() != "key" || p.BaseURL == "" || p.Prices["m"].Output != 10 || p.RequestsPerMinute != 60 {
		t.Errorf("unexpected %+v", p)
	}
	if s.Limits.Memory != 16<<30 || s.Build.Keep != 20<<30 || s.Build.Secrets["PIP_TOKEN"].Name() != "key" || s.Log.Format != "json" || s.HTTP.Content != ContentMetadata {
		t.Errorf("unexpected %+v", s)
	}
	if len(s.Unsupported) != 0 || len(diags) != 0 {
		t.Errorf("unexpected %v, %v", s.Unsupported, diags)
	}
}

func TestSettingsAreCheckedCompletely(t *testing.T) {
	_, diags := LoadSettings("assayd.hcl", []byte(`
wach = []
engine "podman" {}
provider "x" { protocol = "http" }
provider "openai" { api_key = secret("none") }
http { listen = "everywhere" }
build { secrets = ["a"] }
github { tokens = [1] }
limits { judge = 2 }
log { level = "loud" }
git { interval = 5 }
run "x" {}
`), testOptions())
	got := map[int]bool{}
	for _, d := range diags {
		if d.Severity == Error {
			got[d.Line] = true
		}
	}
	for line := 2; line <= 12; line++ {
		if !got[line] {
			t.Errorf("no error on line %d", line)
		}
	}
}

func TestBudgetsOfTheHostAreChecked(t *testing.T) {
	for text, want := range map[string]string{
		"budget {\n  day {}\n}\n":                               `2: Missing "usd"`,
		"budget {\n  day { usd = 0 }\n}\n":                      `2: Invalid value for "usd"`,
		"budget {\n  day { tokens = 5 }\n}\n":                   `2: Missing "usd"`,
		"budget {\n  week { usd = 5 }\n}\n":                     `2: Unknown block`,
		"budget {\n  month { usd = 5 }\n  day { usd = 6 }\n}\n": `3: Day over month`,
		"budget {\n  day { usd = 5 }\n}\nbudget {\n}\n":         `4: Second "budget" block`,
		"budget {\n  day { usd = 5 }\n  month { usd = 5 }\n}\n": "",
	} {
		_, diags := LoadSettings("assayd.hcl", []byte(text), testOptions())
		got := ""
		if len(diags) > 0 {
			got = fmt.Sprintf("%d: %s", diags[0].Line, diags[0].Summary)
		}
		if got != want {
			t.Errorf("%q: %q, want %q (%v)", text, got, want, diags)
		}
	}
}

func TestBuildSecretsAreNamedAsVariables(t *testing.T) {
	for _, key := range []string{"pip-token", "1st", "a b", "a=b"} {
		_, diags := LoadSettings("assayd.hcl", fmt.Appendf(nil, "build {\n  secrets = { %q = \"x\" }\n}\n", key), testOptions())
		if !diags.HasErrors() || diags[0].Line != 2 || !strings.Contains(diags[0].Detail, "environment variable") {
			t.Errorf("%q: %v", key, diags)
		}
	}
}

func TestSecretsAreNotShown(t *testing.T) {
	s := SecretText("hunter2")
	data, err := json.Marshal(map[string]Secret{"k": s})
	if err != nil {
		t.Fatal(err)
	}
	shown := fmt.Sprintf("%v %+v %#v %s %s", s, s, []Secret{s}, s, data) + s.LogValue().String()
	if strings.Contains(shown, "hunter2") {
		t.Error(shown)
	}
}

// What viewers see is all unless it is said otherwise, in one of two words.
func TestWhatViewersSee(t *testing.T) {
	for text, want := range map[string]string{
		``: ContentAll, `http {}`: ContentAll, `http { content = "all" }`: ContentAll, `http { content = "metadata" }`: ContentMetadata,
	} {
		s, diags := LoadSettings("assayd.hcl", []byte(text), testOptions())
		if diags.HasErrors() || s.HTTP.Content != want {
			t.Errorf("%s: %q, %v", text, s.HTTP.Content, diags)
		}
	}
	for _, value := range []string{`"numbers"`, `""`, `true`, `["metadata"]`} {
		_, diags := LoadSettings("assayd.hcl", fmt.Appendf(nil, "http {\n  hosts   = []\n  content = %s\n}\n", value), testOptions())
		if len(diags) != 1 || diags[0].Severity != Error || diags[0].Line != 3 || diags[0].Column != 13 || !strings.Contains(diags[0].Detail, "metadata") && !strings.Contains(diags[0].Detail, "text") {
			t.Errorf("%s: %+v", value, diags)
		}
	}
}

// What this version has beside the engines of the language can be named as they can; work runs on one of them.
func TestEnginesOfTheVersionCanBeNamed(t *testing.T) {
	o := testOptions()
	o.Engines = map[string]EngineKind{"docker": {}, "podman": {Texts: map[string]func(string) error{"socket": notEmpty}, Pairs: []string{"labels"}}}
	for _, c := range []struct {
		settings, run string // text of the settings, and the attribute of the run
		engine        string // of the run
		lacks         string // what the run asks for that there is not
		unsupported   string // of the settings
	}{
		{engine: "docker"},
		{run: `engine = "podman"`, engine: "podman", lacks: "the engine podman beside docker"},
		{run: `engine = "kubernetes"`, engine: "kubernetes", lacks: "the engine kubernetes"},
		{settings: `engine "podman" {}`, engine: "podman"},
		{settings: `engine "podman" {}`, run: `engine = "docker"`, engine: "docker", lacks: "the engine docker beside podman"},
		{settings: "engine \"kubernetes\" {}\nengine \"podman\" {}", engine: "podman", unsupported: "the engine kubernetes"},
		{settings: "engine \"docker\" {}\nengine \"podman\" {}", engine: "docker", unsupported: "the engine podman beside docker"},
	} {
		settings, diags := LoadSettings("assayd.hcl", []byte(c.settings), o)
		if got := strings.Join(settings.Unsupported, ", "); diags.HasErrors() || got != c.unsupported {
			t.Errorf("%q: not supported are %q, want %q (%v)", c.settings, got, c.unsupported, diags)
		}
		o := o
		o.Settings = settings
		text := fmt.Sprintf("benchmark \"b\" {\n  task \"t\" {\n    image       = \"i:1\"\n    instruction = \"x\"\n    submit { paths = [\"src/\"] }\n    judge {\n      command = \"true\"\n      parser  = \"exit_code\"\n    }\n  }\n}\nagent \"a\" { command = [\"x\"] }\nrun \"r\" {\n  tasks = [benchmark.b]\n  agent \"a\" {}\n  %s\n}\n", c.run)
		set := Load([]Input{{Path: "/a.hcl", Display: "a.hcl", Text: []byte(text)}}, nil, o)
		if set.Diagnostics.HasErrors() || len(set.Blocks.Runs) != 1 {
			t.Fatal(set.Diagnostics)
		}
		if r := set.Blocks.Runs[0]; r.Engine != c.engine || strings.Join(r.Unsupported, ", ") != c.lacks {
			t.Errorf("%q, %q: the engine %q, not supported %q", c.settings, c.run, r.Engine, r.Unsupported)
		}
	}
	s, diags := LoadSettings("assayd.hcl", []byte("engine \"podman\" {\n  socket = \"/run/p\"\n  labels = { a = \"b\" }\n}\n"), o)
	if got := s.Engines["podman"]; len(diags) > 0 || s.Engine != "podman" || got.Texts["socket"] != "/run/p" || got.Pairs["labels"]["a"] != "b" {
		t.Errorf("unexpected %+v, %v", s.Engines, diags)
	}
	for _, text := range []string{"engine \"podman\" {\n  host = \"x\"\n}\n", "engine \"podman\" {\n  socket = \"\"\n}\n", "engine \"pod\" {}\n"} {
		if _, diags := LoadSettings("assayd.hcl", []byte(text), o); !diags.HasErrors() {
			t.Errorf("%q is accepted", text)
		}
	}
}
