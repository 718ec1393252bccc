package sforge_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/runtime/task/sforge"
)

const leaderboard = `env:
  SFORGE_BACKEND: k8s
model:
  api_key: ${API_KEY}
  api_base_url: https://example.org
  model: ${MODEL}
x-big: &big
  cpu_limit: 16
  mem_limit: 16g
stagger: 600
defaults:
  agent: codex
  backend: k8s
  timeout: 43200
  eval_interval: 1800
  submission_cooldown: 120
  work_cpu_limit: 4
  extra_env: {A: 1, B: "${x}\n\"q\""}
  internet: false
tasks:
  ad_placement: {}
  smt_solver:
    <<: *big
    work_cpu_limit: 16
    typo: 1
  text_adventure:
    submission_cooldown: 0
    timeout: 90
    disable_auto_eval: yes
    disable_stop_hook: "false"
    disable_auto_resume: true
    internet: true
    max_submissions: 3
    effort: high
    model: other
    backend: e2b
    mem_limit: 2Gb
    extra_env: {A: two}
  zip:
`

func TestAnExperimentIsRunBlocks(t *testing.T) {
	all, problems, notices := sforge.Experiments(folder(t, map[string]string{
		"BENCHMARK.yaml": bench, "Leader Board.yaml": leaderboard, "other.yml": "tasks: {one: {}}\n", "compose.yaml": "services: {}\n",
		"leader-board.yml": "tasks: {one: {timeout: 60}}\n", ".hidden.yaml": "tasks: 1\n", "empty.yaml": "",
	}))
	if len(problems) > 0 || len(all) != 3 {
		t.Fatalf("%d experiments, problems %+v", len(all), problems)
	}
	var said []string
	for _, n := range notices {
		said = append(said, n.File+": "+n.Text)
	}
	if diff := cmp.Diff([]string{
		`Leader Board.yaml: "typo" has no effect, here as there`,
		`Leader Board.yaml: backend: there is no "e2b"; the tasks are run by the engine of the settings`,
		`Leader Board.yaml: disable_stop_hook: the text "false" counts as true, as it does in SForge`,
		"Leader Board.yaml: env: variables of the harness are not taken over",
		"Leader Board.yaml: model: key and address of the model belong into a provider of the settings; only the name is taken over",
	}, said); diff != "" {
		t.Error(diff)
	}
	const want = `run "leader-board" {
  tasks = [benchmark.edge]
  include = ["ad_placement", "zip"]
  agent "codex" {
    model = env("MODEL")
    env = { "A" = "1", "B" = "$${x}\n\"q\"" }
  }
  timeout = "12h"
  parallel = 2
  stagger = "10m"
  auto_eval = "30m"
  network = "none"
  engine = "kubernetes"
  submissions {
    cooldown = "2m"
  }
  work {
    cpus = 4
  }
}

run "leader-board-2" {
  tasks = [benchmark.edge]
  include = ["smt_solver"]
  agent "codex" {
    model = env("MODEL")
    env = { "A" = "1", "B" = "$${x}\n\"q\"" }
  }
  timeout = "12h"
  parallel = 1
  stagger = "10m"
  auto_eval = "30m"
  network = "none"
  engine = "kubernetes"
  submissions {
    cooldown = "2m"
  }
  work {
    cpus = 16
    memory = "16GiB"
  }
  judge {
    cpus = 16
    memory = "16GiB"
  }
}

run "leader-board-3" {
  tasks = [benchmark.edge]
  include = ["text_adventure"]
  agent "codex" {
    model = "other"
    effort = "high"
    env = { "A" = "two", "B" = "$${x}\n\"q\"" }
  }
  timeout = "90s"
  parallel = 1
  stagger = "10m"
  auto_eval = "0s"
  stop_hook = false
  network = "open"
  resume {
    max = 0
  }
  submissions {
    max = 3
  }
  work {
    cpus = 4
    memory = "2GiB"
  }
  judge {
    memory = "2GiB"
  }
}
`
	if diff := cmp.Diff(want, all[0].HCL("edge")); diff != "" {
		t.Error(diff)
	}
	if got := all[1].Runs[0].Name + " " + all[2].Runs[0].Name; got != "leader-board-4 other" {
		t.Errorf("names %s", got)
	}
}

func TestWhatIsWrongWithAnExperiment(t *testing.T) {
	for text, want := range map[string]string{
		"tasks: [\n":                   "is no YAML",
		"tasks: {'a b': {}}\n":         `"a b" is no name for a task`,
		"tasks: {a: 1}\n":              "tasks.a is no map",
		"tasks: {a: {timeout: x}}\n":   `"timeout" is no whole number from 0`,
		"tasks: {a: {timeout: -1}}\n":  `"timeout" is no whole number from 0`,
		"tasks: {a: {agent: [x]}}\n":   `"agent" is no text`,
		"tasks: {}\n":                  "names no tasks",
		"tasks: {a: \xff}\n":           "is not UTF-8",
		strings.Repeat(" ", 1<<20+100): "is larger than 1 MiB",
	} {
		all, problems, _ := sforge.Experiments(folder(t, map[string]string{"e.yaml": text}))
		if len(all) > 0 || len(problems) != 1 || !strings.Contains(say(problems[0]), want) {
			t.Errorf("%.40q: %+v, %+v; want %s", text, all, problems, want)
		}
	}
	if _, problems, _ := sforge.Experiments(t.TempDir() + "/none"); len(problems) != 1 {
		t.Errorf("no folder: %+v", problems)
	}
}
