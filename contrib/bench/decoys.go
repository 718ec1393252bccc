package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/assayd/assayd/contrib/bench/result"
	"github.com/assayd/assayd/runtime/container/docker"
)

// mixedTrials are the trials whose mixed runs are measured, and as many without any.
const mixedTrials = 5

// decoyTests are the hidden tests of the task: each has a decoy.
const decoyTests = "def level():\n    return int(open('src/level').read())\n\n\ndef test_level():\n    assert level() == 4\n\n\ndef test_half():\n    assert level() / 2 == 2\n"

// decoys measures what the mixed runs of a trial take, one trial after the other: from the verdict
// of its round to its own, less the same of trials without mixed runs. The decoys are proved before.
func decoys(ctx context.Context, o options, engine *docker.Engine) (_ []result.Result, err error) {
	w, err := newFixture(ctx, o, engine)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, w.close(ctx)) }()
	w.judgeImage = w.image
	if _, err := w.serve(); err != nil {
		return nil, err
	}
	after := map[string]result.Samples{}
	for name, text := range map[string]string{"plain.hcl": w.mixedTask("plain", 0), "mixed.hcl": w.mixedTask("mixed", 4)} {
		if _, err := w.drop(name, text); err != nil {
			return nil, err
		}
		if _, err := w.told(ctx, strings.TrimSuffix(name, ".hcl")+".status.jsonl", "spec.accepted"); err != nil {
			return nil, err
		}
	}
	for _, name := range []string{"plain", "warm", "mixed"} { // the warm one proves the decoys of the mixed one
		task := "mixed"
		if name == "plain" {
			task = name
		}
		if after[name], err = w.mixedRun(ctx, name, task); err != nil {
			return nil, err
		}
	}
	plain := result.Median(after["plain"]["after"])
	var ours []float64
	for _, ms := range after["mixed"]["after"] {
		ours = append(ours, max(0, ms-plain))
	}
	r := result.Compare("ms", ours, after["mixed"]["judging"])
	return []result.Result{r.Called("decoys", "the mixed runs of a trial: four judgings, beside each other where there is room", "one judging of its round")}, nil
}

// mixedRun runs the oracle over the task of a benchmark, and takes of each trial how long its round
// was judged, and how long it took from there to the verdict of the trial.
func (w *fixture) mixedRun(ctx context.Context, name, benchmark string) (result.Samples, error) {
	run := fmt.Sprintf("run %q {\n  tasks    = [benchmark.%s]\n  mode     = \"single\"\n  attempts = %d\n  parallel = 1\n  agent \"oracle\" {}\n}\n", name, benchmark, mixedTrials)
	if _, err := w.drop("run-"+name+".hcl", run); err != nil {
		return nil, err
	}
	if _, err := w.told(ctx, "run-"+name+".status.jsonl", "spec.accepted"); err != nil {
		return nil, err
	}
	if err := w.settled(ctx, "run."+name); err != nil {
		return nil, err
	}
	all, err := w.records("run-" + name + ".run." + name + ".jsonl")
	m := result.Samples{}
	var judged time.Time
	var judging float64
	for _, r := range all {
		switch r.Type {
		case "submission":
			judged, judging = r.Time, r.DurationMS
		case "trial.finished":
			if r.Status != "resolved" {
				return nil, fmt.Errorf("a trial of the oracle is %s:\n%s", r.Status, w.said())
			}
			m.Add(map[string]float64{"judging": judging, "after": result.Milliseconds(r.Time.Sub(judged))})
		}
	}
	if len(m["after"]) != mixedTrials && err == nil {
		err = fmt.Errorf("%d trials of %d are over", len(m["after"]), mixedTrials)
	}
	return m, err
}

// mixedTask is a benchmark of that name with a task with so many mixed runs.
func (w *fixture) mixedTask(name string, runs int) string {
	return fmt.Sprintf(`
benchmark "%[1]s" {
  task "level" {
    image       = %[2]q
    instruction = "Raise the number in src/level."
    submit {
      paths = ["src/"]
    }
    work {
      files  = { "src/level" = "0" }
      cpus   = 0.5
      memory = "256MiB"
    }
    judge {
      files   = { "tests/test_level.py" = %[3]q }
      command = "python3 -m pytest -q tests"
      parser  = "pytest"
      cpus    = 0.5
      memory  = "256MiB"
      decoys  = %[4]d
    }
    solution {
      script = "echo 4 >src/level"
    }
    fail_to_pass = ["tests/test_level.py::test_level", "tests/test_level.py::test_half"]
  }
}
`, name, w.image, decoyTests, runs)
}
