package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/assayd/assayd/contrib/bench/result"
	"github.com/assayd/assayd/reconcile/retention"
	"github.com/assayd/assayd/runtime/container/docker"
)

// singles are how many tasks of one repository are measured, each at a commit of its own.
const singles = 5

// files and fileSize are what the repository holds.
const (
	files    = 200
	fileSize = 16 << 10
)

// single measures what trials in single mode take beside agent and tests, one after the
// other and with the sanity check of each task, and what the images of tasks of one
// repository take on the disk.
func single(ctx context.Context, o options, engine *docker.Engine) (_ []result.Result, err error) {
	w, err := newFixture(ctx, o, engine)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, w.close(ctx)) }()
	w.judgeImage = w.image
	tasks, err := w.repository(ctx)
	if err != nil {
		return nil, err
	}
	w.settings = filepath.Join(w.dir, "assayd.hcl")
	if err := os.WriteFile(w.settings, fmt.Appendf(nil, "repositories {\n  allow_file = [%q]\n}\n", w.dir), 0o600); err != nil {
		return nil, err
	}
	if _, err := w.serve(); err != nil {
		return nil, err
	}
	for _, name := range []string{"warm", "measured"} { // the first one builds
		text := w.oracleRun(name)
		if name == "warm" {
			text = tasks + text
		}
		if _, err := w.drop(name+".hcl", text); err != nil {
			return nil, err
		}
		if _, err := w.told(ctx, name+".status.jsonl", "spec.accepted"); err != nil {
			return nil, err
		}
		if err := w.settled(ctx, "run."+name); err != nil {
			return nil, err
		}
	}
	m, err := w.trialTimes("measured.run.measured.jsonl")
	if err != nil {
		return nil, err
	}
	for n := range singles {
		l, err := w.reference(ctx, n)
		if err != nil {
			return nil, err
		}
		m.Add(map[string]float64{"engine": 3 * (l.start + l.exec + l.remove)})
	}
	trial := result.Compare("ms", m["beyond"], m["engine"])
	trial.Parts = m.Medians("whole", "agent", "judge command")
	disk, err := w.imageSizes(ctx)
	if err != nil {
		return nil, err
	}
	return []result.Result{
		trial.Called("single", "a trial in single mode beyond agent and tests: sanity check, agent, patch, verdict", "three containers of the engine alone: create + start + exec `true` + remove"),
		disk.Called("single_images", fmt.Sprintf("images of a task, of %d of one repository", singles), "its files, without their history"),
	}, nil
}

// repository makes one with a commit for each task, and returns the tasks.
func (w *fixture) repository(ctx context.Context) (string, error) {
	dir := filepath.Join(w.dir, "repo")
	script := `set -e
git init -q --initial-branch=main .
git config user.name bench; git config user.email bench@example.com
for n in $(seq ` + fmt.Sprint(files) + `); do head -c ` + fmt.Sprint(fileSize) + ` /dev/urandom > file$n; done
for n in $(seq ` + fmt.Sprint(singles) + `); do echo $n > number; git add .; git commit -qm "$n"; git rev-parse HEAD; done
`
	if err := os.Mkdir(dir, 0o755); err != nil {
		return "", err
	}
	patch := "diff --git a/solved b/solved\nnew file mode 100644\n--- /dev/null\n+++ b/solved\n@@ -0,0 +1 @@\n+yes\n"
	if err := os.WriteFile(filepath.Join(w.specs, "solved.patch"), []byte(patch), 0o644); err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", script)
	cmd.Dir = dir
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("make a repository: %w", err)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "benchmark %q {\n", w.name())
	for n, commit := range strings.Fields(string(out)) {
		fmt.Fprintf(&b, `
  task "t%d" {
    image       = %q
    instruction = "Solve it."
    repo {
      url    = %q
      commit = %q
    }
    work {
      cpus   = 0.5
      memory = "256MiB"
      disk   = "1GiB"
    }
    judge {
      decoys = 0 # what mixed runs take is measured apart
    }
    solution {
      patch = "solved.patch"
    }
    fail_to_pass = ["test -f solved"]
    pass_to_pass = ["test -f number"]
  }
`, n, w.image, "file://"+dir, commit)
	}
	b.WriteString("}\n")
	return b.String(), nil
}

func (w *fixture) oracleRun(name string) string {
	return fmt.Sprintf("run %q {\n  tasks = [benchmark.%s]\n  mode = \"single\"\n  agent \"oracle\" {}\n}\n", name, w.name())
}

// trialTimes takes the trials of a run apart, which came one after the other, in milliseconds.
func (w *fixture) trialTimes(file string) (result.Samples, error) {
	all, err := w.records(file)
	m := result.Samples{}
	var last time.Time
	var judged float64
	for _, r := range all {
		switch r.Type {
		case "run.started":
			last = r.Time
		case "submission":
			judged += r.JudgeMS
		case "trial.finished":
			if r.Status != "resolved" {
				return nil, fmt.Errorf("a trial of the oracle is %s:\n%s", r.Status, w.said())
			}
			whole, agent := result.Milliseconds(r.Time.Sub(last)), 1000*r.AgentSeconds
			m.Add(map[string]float64{"whole": whole, "agent": agent, "judge command": judged, "beyond": whole - agent - judged})
			last, judged = r.Time, 0
		}
	}
	if len(m["whole"]) != singles && err == nil {
		err = fmt.Errorf("%d trials of %d are over", len(m["whole"]), singles)
	}
	return m, err
}

// imageSizes are what the images take that nothing else shares, in MB for each task.
func (w *fixture) imageSizes(ctx context.Context) (r result.Result, err error) {
	none := int64(0)
	swept, err := w.client.Collect(ctx, retention.Sweep{Dry: true, Keep: &none})
	if err != nil {
		return r, err
	}
	var bytes int64
	for _, img := range swept.Images {
		bytes += img.Bytes
	}
	const mb = 1e6
	return result.Compare("MB", []float64{float64(bytes) / mb / singles}, []float64{files * fileSize / mb}), nil
}
