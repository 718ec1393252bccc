//go:build real

package daemon_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/reconcile/query"
	"github.com/assayd/assayd/reconcile/query/trialview"
	"github.com/assayd/assayd/runtime/trial"
)

// Real pull requests, imported from a file of rows in SWE-bench's format and run in single
// mode, come to every status there is, and each for its reason.
func TestRealRowsInSingleMode(t *testing.T) {
	pulls := realPulls(t)
	w := newFixture(t)
	writeRows(t, filepath.Join(w.specs, "rows"), append(w.rowsOf(pulls), broken(t, pulls)...)...)
	writeAgents(t, filepath.Join(w.specs, "agent"), pulls)
	var names []string
	for _, p := range pulls {
		names = append(names, p.ID)
	}
	spec := singleSpec{bench: w.bench, include: names, runs: map[string][]string{
		"honest": {"oracle", "nop", "crash"}, "slow": {"slow"}, "attack": attackers(),
		"broken": {"nop"},
	}}
	write(t, filepath.Join(w.specs, "real.hcl"), spec.text())
	runs := w.single(w.forge(""), filepath.Join(w.specs, "real.hcl"))
	w.noContainerIsLeft()

	images := map[string]string{}
	for _, run := range runs { // the one that came first has built it
		maps.Copy(images, readResults(t, run.Results).work)
	}
	t.Run("honest", func(t *testing.T) {
		log := readResults(t, runs["honest"].Results)
		for _, p := range pulls {
			t.Run(p.ID, func(t *testing.T) {
				w.resolvedInSingle(t, p, trialOf(t, runs["honest"], p, "oracle"), log)
				checkFinished(t, p, trialOf(t, runs["honest"], p, "nop"), log, trial.Unresolved, false)
				w.checkWorkImage(t, p, images[p.ID], "/testbed")
				if x := trialOf(t, runs["honest"], p, "crash"); x.Status != trial.AgentError {
					t.Errorf("the agent that crashes is %s (%s %s)", x.Status, x.Reason, x.Detail)
				}
			})
		}
	})
	t.Run("slow", func(t *testing.T) {
		timedOut := readResults(t, runs["slow"].Results)
		for _, p := range pulls {
			if x := trialOf(t, runs["slow"], p, "slow"); x.Status != trial.AgentError || !timedOut.finished[x.ID].TimedOut {
				t.Errorf("%s: the agent that is slow is %s (%s %s)", p.ID, x.Status, x.Reason, x.Detail)
			}
		}
	})
	t.Run("attack", func(t *testing.T) {
		for _, p := range pulls {
			for _, agent := range attackers() {
				x := trialOf(t, runs["attack"], p, agent)
				t.Logf("%s %s: %s %v %s %s", p.ID, agent, x.Status, x.Flags, x.Reason, x.Detail)
				if x.Status != trial.Unresolved {
					t.Errorf("%s: %s comes to %s (%s %s)\n%s", p.ID, agent, x.Status, x.Reason, x.Detail, w.agentLog(x.ID))
				}
			}
		}
	})
	t.Run("broken", func(t *testing.T) {
		got := map[string]trial.Status{}
		for _, x := range runs["broken"].Trials {
			got[x.Task] = x.Status
			t.Logf("%s: %s %s", x.Task, x.Status, x.Detail)
		}
		want := map[string]trial.Status{
			"missing-tool": trial.TestError, "wrong-commit": trial.SetupError, "wrong-url": trial.SetupError, "install-fails": trial.SetupError,
			"passes-already": trial.SanityFail, "breaks-already": trial.SanityFail,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("summary", func(t *testing.T) {
		for name, run := range runs {
			checkSummary(t, name, run)
		}
	})
}

// resolvedInSingle: the reference patch resolves the task, and is what was taken of it.
func (w *fixture) resolvedInSingle(t *testing.T, p pull, x trialview.TrialStatus, log results) {
	t.Helper()
	checkFinished(t, p, x, log, trial.Resolved, true)
	f := log.finished[x.ID]
	if f.Patch == nil {
		t.Error("oracle: no patch was kept")
		return
	}
	got, err := os.ReadFile(filepath.Join(w.state, f.Patch.File))
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(changedLines(string(got)), changedLines(p.sourcePatch(t))) {
		t.Errorf("the patch that was taken is\n%s\nand not\n%s", got, p.sourcePatch(t))
	}
}

// changedLines are the lines that a patch takes and gives, sorted: two diffs of one change
// need not have the same hunks.
func changedLines(diff string) (lines []string) {
	for line := range strings.Lines(diff) {
		if strings.HasPrefix(line, "+") || strings.HasPrefix(line, "-") {
			lines = append(lines, line)
		}
	}
	slices.Sort(lines)
	return lines
}

// broken are rows of which each lacks one thing, by the name of what it is.
func broken(t *testing.T, pulls []pull) []row {
	t.Helper()
	p := pulls[slices.IndexFunc(pulls, func(p pull) bool { return p.ID == "r1chardj0n3s__parse-113" })]
	change := func(name string, set func(row, row)) row {
		r := p.row(t, toolchains()["python"].Image)
		r["instance_id"] = name
		set(r, r["install_config"].(row))
		return r
	}
	return []row{
		change("missing-tool", func(_, config row) {
			config["test_cmd"], config["log_parser"] = "no-such-pytest -v test_parse.py", "parse_log_pytest"
		}),
		change("wrong-commit", func(r, _ row) { r["base_commit"] = strings.Repeat("0123456789", 4) }),
		change("wrong-url", func(r, _ row) { r["repo"] = "nobody/nothing" }),
		change("install-fails", func(_, config row) { config["install"] = []string{"echo no network >&2; exit 3"} }),
		change("passes-already", func(r, _ row) { r["FAIL_TO_PASS"], r["PASS_TO_PASS"] = p.PassToPass[:1], p.PassToPass[1:] }),
		change("breaks-already", func(r, _ row) {
			r["PASS_TO_PASS"] = append(slices.Clone(p.PassToPass), "test_parse.py::Gone::test_gone")
		}),
	}
}

// singleSpec is a spec of runs in single mode on one imported benchmark.
type singleSpec struct {
	bench        string
	format, path string   // of what is imported; "" = rows in SWE-bench's format
	include      []string // tasks of all runs but "broken", which has the others
	runs         map[string][]string
	more         string // attributes of each run in place of those here
}

func (s singleSpec) text() string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	if s.format == "" {
		s.format, s.path = "swebench", "rows"
	}
	line("benchmark %q {\n  import %q {\n    path = %q\n  }\n}", s.bench, s.format, s.path)
	tasks := listOf(s.include)
	if s.more == "" {
		s.more = "parallel = 4"
	}
	var known []string
	for name, agents := range s.runs {
		timeout, which, sanity := "5m", "include", true
		switch name {
		case "slow":
			timeout = "3s"
		case "broken":
			which = "exclude"
		case "attack": // it is the honest run that asks
			sanity = false
		}
		line("run %q {\n  tasks = [benchmark.%s]\n  %s = %s\n  mode = \"single\"\n  timeout = %q\n  sanity_check = %v", name, s.bench, which, tasks, timeout, sanity)
		line("  retry {\n    infra = 0\n  }\n  work {\n    cpus = 0.25\n  }\n  judge {\n    cpus = 1\n  }\n  %s", s.more)
		for _, agent := range agents {
			line("  agent %q {}", agent)
		}
		line("}")
		known = append(known, agents...)
	}
	slices.Sort(known)
	for _, agent := range slices.Compact(known) {
		if agent != "oracle" && agent != "nop" {
			line("agent %q {\n  dir     = \"agent\"\n  command = [\"/bin/sh\", \"/agent/%s.sh\"]\n}", agent, agent)
		}
	}
	return b.String()
}

func listOf(names []string) string {
	text, err := json.Marshal(names)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// single runs a spec file to its end, and returns its runs by name.
func (w *fixture) single(settings, spec string) map[string]query.RunStatus {
	w.Helper()
	var said strings.Builder
	cmd := exec.CommandContext(w.Context(), binary, "run", "--json", "--config", settings, "--state", w.state, spec)
	cmd.Stderr = &said
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) { // 1 = not all were judged
		w.Fatalf("assayd run: %v\n%s", err, said.String())
	}
	var answer struct{ Runs []query.RunStatus }
	if err := json.Unmarshal(out, &answer); err != nil {
		w.Fatalf("assayd run printed no outcome (%v):\n%s\n%s", err, out, said.String())
	}
	runs := map[string]query.RunStatus{}
	for _, run := range answer.Runs {
		runs[strings.TrimPrefix(run.Address, "run.")] = run
	}
	return runs
}

// checkSummary holds swe-forge's summary against the trials.
func checkSummary(t *testing.T, name string, run query.RunStatus) {
	t.Helper()
	text, err := os.ReadFile(strings.TrimSuffix(run.Results, ".jsonl") + ".summary.json")
	if err != nil {
		t.Error(err)
		return
	}
	var got map[string]json.RawMessage
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	agents, total := map[trial.Status]int{}, 0
	controls := map[string]map[trial.Status]int{}
	for _, x := range run.Trials {
		counts := agents
		if x.Agent == "oracle" || x.Agent == "nop" {
			if controls[x.Agent] == nil {
				controls[x.Agent] = map[trial.Status]int{}
			}
			counts = controls[x.Agent]
		} else {
			total++
		}
		counts[x.Status]++
	}
	want := map[string]int{"total": total}
	for _, s := range []trial.Status{trial.Resolved, trial.Unresolved, trial.AgentError, trial.TestError, trial.SetupError, trial.SanityFail} {
		want[string(s)] = agents[s]
	}
	apart := map[string]map[trial.Status]float64{}
	if of := got["controls"]; of != nil {
		if err := json.Unmarshal(of, &apart); err != nil {
			t.Fatal(err)
		}
	}
	for agent, counts := range controls {
		for status, n := range counts {
			if int(apart[agent][status]) != n {
				t.Errorf("%s: %v %s of %s in the summary, want %d", name, apart[agent][status], status, agent, n)
			}
		}
	}
	for field, n := range want {
		if string(got[field]) != fmt.Sprint(n) {
			t.Errorf("%s: %s is %s in the summary, want %d", name, field, got[field], n)
		}
	}
}
