package config

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

const importing = `benchmark "b" {
  import "sforge" { path = "tasks" }
}
run "r" {
  tasks = [%REF%]
  agent "nop" {}
  %MORE%
}
`

// An imported task that asks for too much is nobody's to edit: it is told at the run that
// wants it, which can leave it out or give it less.
func TestAnImportedTaskThatDoesNotFitIsTheRunsBusiness(t *testing.T) {
	for name, tt := range map[string]struct{ ref, more, want string }{
		"wanted":                 {"benchmark.b", "", `task "big", which the run can exclude or size otherwise: work.cpus asks for 64 CPUs; the machine has 2 CPUs.`},
		"wanted by name":         {`benchmark.b["big"]`, "", `work.cpus asks for 64 CPUs`},
		"excluded":               {"benchmark.b", `exclude = ["big"]`, ""},
		"another wanted":         {`benchmark.b["small"]`, "", ""},
		"given less":             {"benchmark.b", "work { cpus = 2 }\n judge { cpus = 1 }", ""},
		"given less of one half": {"benchmark.b", "work { cpus = 2 }", `judge.cpus asks for 32 CPUs`},
		"no such task":           {`benchmark.b["bgi"]`, "", `benchmark.b has no task "bgi"`},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			text := strings.NewReplacer("%REF%", tt.ref, "%MORE%", tt.more).Replace(importing)
			write(t, root, at("a.hcl", text), at("tasks/BENCHMARK.yaml", ""))
			set := load(root, nil, func(o *Options) {
				o.Host.CPUs = 2
				o.Import = func(Import) ([]Imported, []Problem) {
					return []Imported{
						{Name: "small", Work: Resources{CPUs: 1}, Judge: Resources{CPUs: 1}, Task: json.RawMessage(`{}`)},
						{Name: "big", Work: Resources{CPUs: 64}, Judge: Resources{CPUs: 32}, Task: json.RawMessage(`{}`)},
					}, []Problem{{File: "tasks/c.json", Line: 3, Text: "no such field"}}
				}
			})
			var errors []string
			warned := false
			for _, d := range set.Diagnostics {
				if d.Severity == Error {
					errors = append(errors, d.Detail)
				}
				warned = warned || d.Severity == Warning && d.Summary == "Not imported: tasks/c.json:3"
			}
			if got := strings.Join(errors, "\n"); tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
				t.Errorf("errors %q, want %q", got, tt.want)
			}
			if tt.want == "" && !warned {
				t.Errorf("the broken file is not told: %v", set.Diagnostics)
			}
		})
	}
}

func TestAnImportOfNothingIsAnError(t *testing.T) {
	root := t.TempDir()
	write(t, root, at("a.hcl", "benchmark \"b\" {\n  import \"sforge\" { path = \"tasks\" }\n}\n"), at("tasks/x", ""))
	set := load(root, nil, func(o *Options) {
		o.Import = func(Import) ([]Imported, []Problem) {
			return nil, []Problem{{File: "BENCHMARK.yaml", Line: 2, Text: "no"}}
		}
	})
	if !set.Diagnostics.HasErrors() || set.Diagnostics[0].Summary != "Not imported: BENCHMARK.yaml:2" {
		t.Errorf("%v", set.Diagnostics)
	}
}

func TestWhatHasNoEffectIsAnError(t *testing.T) {
	for judge, want := range map[string]string{
		"command = \"x\"\nexpect = [\"a\"]":                                                                                `names no tests`,
		"stage \"run\" { command = \"x\" }\nstage \"grade\" { command = \"x\" }":                                           `nothing to grade`,
		"stage \"run\" {\ncommand = \"x\"\noutputs = [\"o\"]\n}\nstage \"grade\" {\ncommand = \"x\"\noutputs = [\"o\"]\n}": `Only the run stage has outputs`,
		"game = \"x\"\nparser = \"pytest\"":                                                                                `"game" excludes "parser"`,
		"command = \"x\"\nrescale {\nkind = \"linear\"\nlower = 1\nupper = 1\n}":                                           `no score lies between them`,
		"command = \"x\"\nparser = \"pytest\"\nexpect = [\"a\"]":                                                           ``,
		"command = \"x\"\nrescale {\nkind = \"log_anchor\"\nanchor_raw = 50\nanchor_score = 50\n}":                         ``,
	} {
		if ds := complaints(t, judge, ""); want == "" && ds != "" || !strings.Contains(ds, want) {
			t.Errorf("%s: %q, want %q", judge, ds, want)
		}
	}
}

func TestStagesHaveTheJudgesTime(t *testing.T) {
	root := t.TempDir()
	write(t, root, at("a.hcl", `benchmark "b" {
  task "t" {
    image       = "x"
    instruction = "x"
    judge {
      timeout = "2s"
      stage "run" {
        command = "x"
        outputs = ["o"]
      }
      stage "grade" {
        command = "x"
        timeout = "3s"
      }
    }
  }
}
`))
	stages := load(root, nil, nil).Benchmark("b").Tasks[0].Judge.Stages
	if stages[0].Timeout != 2*time.Second || stages[1].Timeout != 3*time.Second {
		t.Errorf("%v and %v", stages[0].Timeout, stages[1].Timeout)
	}
}

func TestAGameExcludesWhatJudgesArchives(t *testing.T) {
	for _, more := range []string{"exclusive = true", `command = "true"`} {
		ds := complaints(t, `game = "./server"`+"\n"+more, "")
		if !strings.Contains(ds, `"game" excludes`) {
			t.Errorf("%s: %q", more, ds)
		}
	}
	if ds := complaints(t, `game = "./server"`, "private { command = \"true\" }"); !strings.Contains(ds, "a game has none") {
		t.Errorf("private: %q", ds)
	}
	if ds := complaints(t, `game = "./server"`, ""); ds != "" {
		t.Errorf("a game alone: %q", ds)
	}
}

// complaints compiles a task with that judge and more, and returns all errors.
func complaints(t *testing.T, judge, more string) string {
	t.Helper()
	root := t.TempDir()
	write(t, root, at("a.hcl", "benchmark \"b\" {\n  task \"t\" {\n    image = \"x\"\n    instruction = \"x\"\n    "+more+
		"\n    judge {\n      "+judge+"\n    }\n  }\n}\n"))
	var all []string
	for _, d := range load(root, nil, nil).Diagnostics {
		if d.Severity == Error {
			all = append(all, d.Summary+": "+d.Detail)
		}
	}
	return strings.Join(all, "\n")
}

// A task file that is broken while its text was accepted before keeps the task as it was; so
// does a dataset that cannot be read at all. What is no longer selected goes.
func TestABrokenImportChangesNothing(t *testing.T) {
	version := func(names ...string) []Imported {
		var all []Imported
		for _, name := range names {
			id, text, _ := strings.Cut(name, "=")
			all = append(all, Imported{Name: id, Task: json.RawMessage(`"` + text + `"`)})
		}
		return all
	}
	for name, tt := range map[string]struct {
		tasks    []Imported
		problems []Problem
		more     string
		want     string
		told     string
	}{
		"sound":                  {version("a=2", "b=2"), nil, "", `a"2" b"2"`, ""},
		"one broken":             {version("b=2"), []Problem{{File: "a.json", Task: "a", Text: "no"}}, "", `a"1" b"2"`, "No. The specs that were accepted before stay."},
		"all broken":             {nil, []Problem{{File: "BENCHMARK.yaml", Text: "no"}}, "", `a"1" b"1"`, "The specs that were accepted before stay."},
		"a new one broken":       {version("a=2", "b=2"), []Problem{{File: "c.json", Task: "c", Text: "no"}}, "", `a"2" b"2"`, "No."},
		"one removed":            {version("b=2"), nil, "", `b"2"`, ""},
		"broken and not wanted":  {version("b=2"), []Problem{{File: "a.json", Task: "a", Text: "no"}}, `exclude = ["a"]`, `b"2"`, "No."},
		"a notice takes nothing": {version("a=2", "b=2"), []Problem{{File: "a.json", Task: "a", Text: "odd", Notice: true}}, "", `a"2" b"2"`, "Odd."},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			text := func(more string) string {
				return "benchmark \"b\" {\n import \"sforge\" {\n path = \"tasks\"\n" + more + "\n }\n}\n"
			}
			write(t, root, at("a.hcl", text("")), at("tasks/x", ""))
			importer := func(tasks []Imported, problems []Problem) func(*Options) {
				return func(o *Options) {
					o.Fresh = func(string) bool { return true }
					o.Import = func(Import) ([]Imported, []Problem) { return slices.Clone(tasks), slices.Clone(problems) }
				}
			}
			first := load(root, nil, importer(version("a=1", "b=1"), nil))
			write(t, root, at("a.hcl", text(tt.more)))
			set := load(root, first.Accepted(), importer(tt.tasks, tt.problems))
			var got []string
			for _, s := range set.Benchmark("b").All() {
				got = append(got, s.Name()+string(s.Imported.Task))
			}
			if strings.Join(got, " ") != tt.want {
				t.Errorf("got %v, want %s", got, tt.want)
			}
			told := ""
			for _, d := range set.Diagnostics {
				told += d.Detail
			}
			if !strings.Contains(told, tt.told) || tt.told == "" && told != "" {
				t.Errorf("told %q, want %q", told, tt.told)
			}
		})
	}
}

// What is to be said of each of many tasks is said once.
func TestEqualNoticesOfManyTasksAreOne(t *testing.T) {
	root := t.TempDir()
	write(t, root, at("a.hcl", "benchmark \"b\" {\n import \"swebench\" {\n path = \"rows.jsonl\"\n }\n}\n"), at("rows.jsonl", ""))
	var tasks []Imported
	var problems []Problem
	for n := range 17 {
		name := fmt.Sprint("t", n)
		tasks = append(tasks, Imported{Name: name, Task: json.RawMessage(`"x"`)})
		for _, text := range []string{"has 1 CPU", "no network", "a test that is skipped counts as failed"} {
			problems = append(problems, Problem{File: "rows.jsonl", Line: n + 1, Task: name, Text: text, Notice: true})
		}
	}
	problems = append(problems, Problem{File: "rows.jsonl", Line: 3, Text: "of its own", Notice: true})
	set := load(root, nil, func(o *Options) {
		o.Fresh = func(string) bool { return true }
		o.Import = func(Import) ([]Imported, []Problem) { return tasks, problems }
	})
	var told []string
	for _, d := range set.Diagnostics {
		told = append(told, d.Summary+": "+d.Detail)
	}
	want := []string{
		"Imported, but look at rows.jsonl:1 and 16 more: A test that is skipped counts as failed.", "Imported, but look at rows.jsonl:1 and 16 more: Has 1 CPU.",
		"Imported, but look at rows.jsonl:1 and 16 more: No network.", "Imported, but look at rows.jsonl:3: Of its own.",
	}
	slices.Sort(told)
	if !slices.Equal(told, want) {
		t.Errorf("told %q", told)
	}
}
