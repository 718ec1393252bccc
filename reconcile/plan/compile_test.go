package plan

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/config"
)

// plainSpec is a run with everything that the tests below change.
const plainSpec = `
locals {
  image = "python:1"
}

benchmark "edge" {
  task "one" {
    image       = local.image
    instruction = "do it"
    title       = "One"
    metadata    = { author = "me" }
    submit {
      paths = ["src/"]
    }
    work {
      context = "skeleton"
      env     = { A = "1" }
    }
    judge {
      command = "true"
      context = "hidden"
    }
    solution { script = "true" }
  }
}

agent "mine" {
  command = "work"
  dir     = "program"
  env     = { B = "1" }
}

run "r" {
  tasks = [benchmark.edge]
  agent "mine" {
    model = "m"
  }
  timeout = "1h"
}
`

// compiled loads the text as a spec file beside its folders and compiles run.r.
func compiled(t *testing.T, text string, change ...func(dir string)) *Run {
	t.Helper()
	dir := t.TempDir()
	put(t, dir, "skeleton/a.py", "pass")
	put(t, dir, "hidden/test_a.py", "assert 1")
	put(t, dir, "program/run.py", "pass")
	put(t, dir, "spec.hcl", text)
	for _, f := range change {
		f(dir)
	}
	o := config.Options{Env: func(name string) (string, bool) { return "key", name == "OPENAI_API_KEY" }}
	set := config.Load(config.Scan(dir, nil, o).Inputs, nil, o)
	if set.Diagnostics.HasErrors() {
		t.Fatalf("%v\n%s", set.Diagnostics, text)
	}
	d, err := Compile(set, *set.Run("r"))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func put(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// edited replaces the first of two texts by the second in plainSpec.
func edited(t *testing.T, old, text string) string {
	t.Helper()
	if !strings.Contains(plainSpec, old) {
		t.Fatalf("%q is not in the spec", old)
	}
	return strings.Replace(plainSpec, old, text, 1)
}

func TestWhatChangesACell(t *testing.T) {
	const timeout, model = `timeout = "1h"`, `model = "m"`
	with := func(line string) [2]string { return [2]string{timeout, timeout + "\n" + line} }
	for _, tt := range []struct {
		name string
		edit [2]string
		same bool
	}{
		{"a comment", with("# again"), true},
		{"the name of a local", [2]string{"", ""}, true}, // below, it stands at two places
		{"parallel", with("parallel = 7"), true},
		{"stagger", with(`stagger = "2m"`), true},
		{"schedule", with(`schedule = "0 2 * * *"`), true},
		{"keep", with(`keep = "always"`), true},
		{"paused", with(`paused = true`), true},
		{"priority", with(`priority = -100`), true},
		{"engine", with(`engine = "docker"`), true},
		{"retry", with("retry {\n infra = 5\n}"), true},
		{"attempts, for the first", with("attempts = 3"), true},
		{"what the run may spend", with("budget {\n total {\n usd = 5\n }\n}"), true},
		{"the task's title", [2]string{`"One"`, `"Two"`}, true},
		{"its metadata", [2]string{`"me"`, `"you"`}, true},
		{"its solution, when the agent is not handed it", [2]string{`script = "true"`, `script = "false"`}, true},
		{"a value that is the default", with(`mode = "iterative"`), true},

		{"instruction", [2]string{"do it", "do that"}, false},
		{"image", [2]string{"python:1", "python:2"}, false},
		{"submit limits", [2]string{`paths = ["src/"]`, "paths = [\"src/\"]\n max_files = 9"}, false},
		{"what is left out of a submission", [2]string{`paths = ["src/"]`, "paths = [\"src/\"]\n exclude = [\"x\"]"}, false},
		{"work environment", [2]string{`{ A = "1" }`, `{ A = "2" }`}, false},
		{"setup", [2]string{`env     = { A = "1" }`, "env = { A = \"1\" }\n setup = [\"true\"]"}, false},
		{"judge command", [2]string{`"true"`, `"exit 0"`}, false},
		{"judge feedback", [2]string{`command = "true"`, "command = \"true\"\n feedback = \"none\""}, false},
		{"parser", [2]string{`command = "true"`, "command = \"true\"\n parser = \"pytest\""}, false},
		{"selection", [2]string{`command = "true"`, "command = \"true\"\n select = \"score_first\""}, false},
		{"agent command", [2]string{`"work"`, `"work hard"`}, false},
		{"agent environment", [2]string{`{ B = "1" }`, `{ B = "2" }`}, false},
		{"agent user", [2]string{`command = "work"`, "command = \"work\"\n user = \"nobody\""}, false},
		{"agent API", [2]string{`command = "work"`, "command = \"work\"\n api = \"openai\""}, false},
		{"resume command", [2]string{`command = "work"`, "command = \"work\"\n resume_command = \"again\""}, false},
		{"model", [2]string{model, `model = "n"`}, false},
		{"effort", [2]string{model, model + "\n effort = \"high\""}, false},
		{"version", [2]string{model, model + "\n version = \"2\""}, false},
		{"provider", [2]string{model, model + "\n provider = \"openai\""}, false},
		{"label", [2]string{model, model + "\n label = \"other\""}, false},
		{"environment in the run", [2]string{model, model + "\n env = { C = \"1\" }"}, false},
		{"what a trial may spend", with("budget {\n per_trial {\n usd = 5\n }\n}"), false},
		{"mode", with(`mode = "single"`), false},
		{"timeout", [2]string{timeout, `timeout = "2h"`}, false},
		{"test_timeout", with(`test_timeout = "1m"`), false},
		{"auto_eval", with(`auto_eval = "1m"`), false},
		{"stop_hook", with(`stop_hook = false`), false},
		{"idle", with(`idle = 3`), false},
		{"resume", with("resume {\n max = 1\n}"), false},
		{"sanity_check", with(`sanity_check = false`), false},
		{"network", with(`network = "open"`), false},
		{"work limits", with("work {\n cpus = 0.5\n}"), false},
		{"judge limits", with("judge {\n memory = \"1GiB\"\n}"), false},
		{"submission limits", with("submissions {\n max = 3\n}"), false},
		{"cooldown", with("submissions {\n cooldown = \"1m\"\n}"), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			text := edited(t, tt.edit[0], tt.edit[1])
			if tt.edit[0] == "" {
				text = strings.NewReplacer("image = \"python:1\"", "picture = \"python:1\"", "local.image", "local.picture").Replace(plainSpec)
			}
			before, after := compiled(t, plainSpec).Cells()[0], compiled(t, text).Cells()[0]
			if got := before.Key == after.Key; got != tt.same {
				t.Errorf("the cell is the same: %v, want %v\n%s", got, tt.same, cmp.Diff(before.Whole(), after.Whole()))
			}
		})
	}
}

func TestFoldersChangeACell(t *testing.T) {
	for _, file := range []string{"skeleton/a.py", "hidden/test_a.py", "program/run.py"} {
		other := compiled(t, plainSpec, func(dir string) { put(t, dir, file, "other") })
		if other.Cells()[0].Key == compiled(t, plainSpec).Cells()[0].Key {
			t.Errorf("another %s is the same cell", file)
		}
	}
}

func TestTheSolutionIsTheOraclesOnly(t *testing.T) {
	oracle := edited(t, `agent "mine" {
    model = "m"
  }`, `agent "oracle" {}`)
	one := compiled(t, oracle).Cells()[0]
	two := compiled(t, strings.Replace(oracle, `script = "true"`, `script = "false"`, 1)).Cells()[0]
	if one.Key == two.Key {
		t.Error("another solution is the same cell for the oracle")
	}
	none := compiled(t, strings.Replace(oracle, `solution { script = "true" }`, "", 1))
	if want := `task "one" has no solution for the oracle`; none.Blocked != want {
		t.Errorf("without a solution the run is blocked by %q, want %q", none.Blocked, want)
	}
}

func TestCellsAreTheProduct(t *testing.T) {
	d := compiled(t, edited(t, `timeout = "1h"`, `timeout = "1h"
		agent "nop" {}
		attempts = 2
		parallel = 3
		stagger  = "90s"
		schedule = "0 2 * * *"
		keep     = "failed"
		retry { infra = 5 }`))
	var got []string
	keys := map[string]bool{}
	for _, cell := range d.Cells() {
		c := cell.Whole()
		got = append(got, c.Task.Name+" "+c.Agent.Title()+" "+string(rune('0'+c.Attempt)))
		keys[cell.Key] = true
	}
	if diff := cmp.Diff([]string{"one mine 1", "one nop 1", "one mine 2", "one nop 2"}, got); diff != "" || len(keys) != 4 {
		t.Errorf("%d keys %s", len(keys), diff)
	}
	if d.Parallel != 3 || d.Stagger != 90*time.Second || d.Keep != "failed" || d.Retries != 5 || d.Blocked != "" {
		t.Errorf("%+v", d)
	}
	if next := d.Schedule.Next(noon); !next.Equal(time.Date(2030, 5, 2, 2, 0, 0, 0, time.UTC)) {
		t.Errorf("a schedule is in UTC; the next firing is %s", next)
	}
}

func TestRunOverrides(t *testing.T) {
	c := compiled(t, edited(t, `timeout = "1h"`, `timeout = "1h"
		network = "open"
		work {
		  cpus = 0.5
		}
		judge { memory = "1GiB" }`)).Cells()[0].Whole()
	if c.Task.Network.Mode != "open" || c.Task.Work.CPUs != 0.5 || c.Task.Work.Memory != 2<<30 || c.Task.Judge.Memory != 1<<30 || c.Task.Judge.CPUs != 1 {
		t.Errorf("%+v %+v %+v", c.Task.Network, c.Task.Work, c.Task.Judge.Part)
	}
}

func TestWhatThisVersionCannotDoBlocks(t *testing.T) {
	for _, tt := range []struct{ name, old, text, want string }{
		{"another engine", `timeout = "1h"`, "timeout = \"1h\"\n  engine = \"kubernetes\"", "the engine kubernetes is not in this version yet"},
	} {
		d := compiled(t, edited(t, tt.old, tt.text))
		reasons := strings.Split(d.Blocked, "; ")
		if !slices.ContainsFunc(reasons, func(r string) bool { return strings.HasPrefix(r, tt.want) }) {
			t.Errorf("%s: blocked by %q, want %q", tt.name, d.Blocked, tt.want)
		}
	}
}

func TestWhatCannotBeDoneBlocksTheRun(t *testing.T) {
	d := compiled(t, strings.Replace(plainSpec, "  timeout = \"1h\"", "  include = [\"zzz*\"]\n", 1))
	if want := "it selects no task"; d.Blocked != want {
		t.Errorf("blocked: %q, want %q", d.Blocked, want)
	}
}
