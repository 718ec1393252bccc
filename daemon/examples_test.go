//go:build linux

package daemon_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/reconcile/query"
	"github.com/assayd/assayd/reconcile/query/trialview"
	"github.com/assayd/assayd/runtime/image"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/trial"
)

// The first thing a new user runs: three agents, one of which gets better from round to
// round, and an outcome with a table, a curve and the path of the results.
func TestTheQuickstartRunsAsItIs(t *testing.T) {
	w := newFixture(t)
	if err := os.CopyFS(w.specs, os.DirFS("../examples/quickstart")); err != nil {
		t.Fatal(err)
	}
	spec := filepath.Join(w.specs, "quickstart.hcl")
	text, err := exec.CommandContext(t.Context(), binary, "run", "--state", w.state, spec).Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	for _, part := range []string{"STATUS", "1 of 1 resolved", "controls: nop 0 of 1 resolved, oracle 1 of 1 resolved", "best pass rate", "╭", "quickstart.run.quickstart.jsonl"} {
		if !bytes.Contains(text, []byte(part)) {
			t.Errorf("the outcome lacks %q:\n%s", part, text)
		}
	}
	again, err := exec.CommandContext(t.Context(), binary, "run", "--json", "--state", w.state, spec).Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, again)
	}
	var outcome struct{ Runs []query.RunStatus }
	if err := json.Unmarshal(again, &outcome); err != nil {
		t.Fatalf("%v\n%s", err, again)
	}
	if len(outcome.Runs) != 1 || outcome.Runs[0].Execution != 1 {
		t.Fatalf("applying the same file again did something:\n%s", again)
	}
	want := map[string]trial.Status{"apprentice": trial.Resolved, "oracle": trial.Resolved, "nop": trial.Unresolved}
	for _, x := range outcome.Runs[0].Trials {
		if x.Status != want[x.Agent] {
			t.Errorf("%s is %s, want %s", x.Agent, x.Status, want[x.Agent])
		}
		if x.Agent == "apprentice" {
			improves(t, x.Rounds)
			said, err := exec.CommandContext(t.Context(), binary, "submissions", "--state", w.state, "--output", "agent-1", x.ID).Output()
			if err != nil || !bytes.Contains(said, []byte("test_subtracting")) {
				t.Errorf("the judge's output of agent-1 is %q, %v", said, err)
			}
		}
	}
}

// Every example does what its comments say, with the oracle and with the agent that does
// nothing. What they need beyond the base image they install themselves, when it is built.
func TestTheExamplesRunAsTheyAre(t *testing.T) {
	for _, example := range []struct {
		name string
		want map[string]trial.Status // by task and agent
		look func(t *testing.T, trials map[string]trialview.TrialStatus)
		base string // the image that it says has to be made, by its name there; "" = none
	}{
		{"tour", map[string]trial.Status{
			"towns improver": trial.Resolved, "towns oracle": trial.Resolved, "towns nop": trial.Unresolved,
		}, lessIsBetter, ""},
		{"cpp", map[string]trial.Status{"multiply oracle": trial.Resolved, "multiply nop": trial.Unresolved}, nil, ""},
		{"proof", map[string]trial.Status{"implication oracle": trial.Resolved, "implication nop": trial.Unresolved}, nil, ""},
		{"games", map[string]trial.Status{
			"mastermind oracle": trial.Resolved, "mastermind nop": trial.Unresolved,
			"adventure oracle": trial.Resolved, "adventure nop": trial.Unresolved,
		}, nil, ""},
		{"staged", map[string]trial.Status{
			"language burglar": trial.Unresolved, "language oracle": trial.Resolved, "language nop": trial.Unresolved,
		}, nothingToSteal, ""},
		{"sforge", map[string]trial.Status{"knapsack packer": trial.Resolved, "knapsack nop": trial.Unresolved}, nil, ""},
		{"holdout", map[string]trial.Status{
			"week memoriser": trial.Unresolved, "week oracle": trial.Resolved, "week nop": trial.Unresolved,
		}, overfittingLoses, ""},
		{"java", map[string]trial.Status{"fraction oracle": trial.Resolved, "fraction nop": trial.Unresolved}, nil, "java"},
		{"rust", map[string]trial.Status{"ranges oracle": trial.Resolved, "ranges nop": trial.Unresolved}, nil, "rust"},
		{"gtest", map[string]trial.Status{"ring oracle": trial.Resolved, "ring nop": trial.Unresolved}, nil, "cpp"},
	} {
		t.Run(example.name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t)
			if example.base != "" {
				if said, err := exec.CommandContext(t.Context(), "../contrib/images/base", example.base).CombinedOutput(); err != nil {
					t.Fatalf("make the base image %s: %v\n%s", example.base, err, said)
				}
			}
			if err := os.CopyFS(w.specs, os.DirFS("../examples/"+example.name)); err != nil {
				t.Fatal(err)
			}
			spec := filepath.Join(w.specs, example.name+".hcl")
			text, err := exec.CommandContext(t.Context(), binary, "run", "--json", "--state", w.state, spec).Output()
			if err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			var outcome struct{ Runs []query.RunStatus }
			if err := json.Unmarshal(text, &outcome); err != nil || len(outcome.Runs) != 1 {
				t.Fatalf("%v\n%s", err, text)
			}
			trials := map[string]trialview.TrialStatus{}
			for _, x := range outcome.Runs[0].Trials {
				trials[x.Task+" "+x.Agent] = x
			}
			got := map[string]trial.Status{}
			for name, x := range trials {
				got[name] = x.Status
				control := x.Agent == "oracle" || x.Agent == "nop"
				if control && slices.ContainsFunc(x.Flags, func(flag string) bool { return strings.HasPrefix(flag, "cheat:") }) {
					t.Errorf("%s is flagged: %v", name, x.Flags)
				}
			}
			if diff := cmp.Diff(example.want, got); diff != "" {
				t.Fatalf("(-want +got):\n%s\n%s", diff, text)
			}
			if example.look != nil {
				example.look(t, trials)
			}
		})
	}
}

// The example of mining needs a key of a model and the network to run. Here it is checked, told
// from one without a key, and planned by a daemon that has never seen it.
func TestTheExampleOfMiningIsValidAndPlanned(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	folder := t.TempDir() // which no daemon watches
	if err := os.CopyFS(folder, os.DirFS("../examples/mining")); err != nil {
		t.Fatal(err)
	}
	spec := filepath.Join(folder, "mining.hcl")
	validate := func(key string) (string, error) {
		cmd := exec.CommandContext(t.Context(), binary, "validate", spec)
		cmd.Env = append(os.Environ(), "OPENROUTER_API_KEY="+key)
		said, err := cmd.CombinedOutput()
		return string(said), err
	}
	if said, err := validate(""); err == nil || !strings.Contains(said, "Missing API key") {
		t.Errorf("without a key: %v\n%s", err, said)
	}
	if said, err := validate(modelKey); err != nil || said != "1 valid file: 0 benchmarks with 0 tasks, 0 agents, 1 run, 1 mining spec\n" {
		t.Errorf("with a key: %v\n%s", err, said)
	}
	w.env = []string{"OPENROUTER_API_KEY=" + modelKey}
	w.serve()
	if said := w.ok("plan", spec); said != "mining.pulls: begin (the spec is new)\nrun.mined: begin e1 (the run is new)\n" {
		t.Errorf("the plan:\n%s", said)
	}
}

// minedOffline runs the example of mining that needs no network, which is one command: it shows what
// became of each pull request and why, the tasks are sound, and nothing of it is left but its folder.
func minedOffline(t *testing.T) {
	t.Helper()
	w := newFixture(t)
	if err := os.Symlink(w.state, filepath.Join(w.specs, ".assayd")); err != nil { // so that the test knows whose containers to look for
		t.Fatal(err)
	}
	said, err := exec.CommandContext(t.Context(), "../contrib/mine-offline/run", binary, w.specs).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	for _, part := range []string{
		"5 pull requests: 2 accepted, 3 rejected, 0 failed, 0 open", "controls: nop 0 of 2 resolved, oracle 2 of 2 resolved",
		"PULL REQUEST", "the branch dependabot/pip/pytest-8.4.2 is one that bots make",
	} {
		if !bytes.Contains(said, []byte(part)) {
			t.Errorf("the output lacks %q:\n%s", part, said)
		}
	}
	got := map[int]string{}
	for _, r := range w.offlineRecords("mining-offline.mining.offline.jsonl", "pr") {
		got[r.Number] += fmt.Sprintf("%s %s %s%s", r.Verdict, r.Stage, r.Reason, r.Task)
	}
	want := map[int]string{
		11: "accepted export acme-durations-11", 12: "rejected source bot", 13: "rejected filter docs_only",
		14: "rejected validation passes_before", 15: "accepted export acme-durations-15",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for name, written := range map[string]bool{"acme-durations-11": false, "acme-durations-15": true} {
		text, err := os.ReadFile(filepath.Join(w.specs, "offline", name, "provenance.json"))
		if err != nil || bytes.Contains(text, []byte(`"generated_tests": true`)) != written {
			t.Errorf("the provenance of %s: %v\n%s", name, err, text)
		}
	}
	statuses := map[string]int{}
	for _, r := range w.offlineRecords("mining-offline.run.mined.jsonl", "trial.finished") {
		statuses[r.Agent+" "+r.Status]++
	}
	if diff := cmp.Diff(map[string]int{"oracle resolved": 2, "nop unresolved": 2}, statuses); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if left, err := w.engine.Observe(t.Context(), w.owner); err != nil || len(left) > 0 {
		t.Errorf("containers are left: %v, %v", left, err)
	}
	if left, err := w.engine.ListImages(t.Context(), image.LabelImageOwner, w.owner); err != nil || len(left) > 0 {
		t.Errorf("images are left: %v, %v", left, err)
	}
}

// offlineRecord is a record of the example of mining or of its run.
type offlineRecord struct {
	Type                                        string
	Number                                      int
	Verdict, Stage, Reason, Task, Agent, Status string
}

// offlineRecords are the records of a type in a file beside the specs.
func (w *fixture) offlineRecords(file, typ string) (all []offlineRecord) {
	w.Helper()
	text, err := os.ReadFile(filepath.Join(w.specs, file))
	if err != nil {
		w.Fatal(err)
	}
	for line := range bytes.Lines(text) {
		var r offlineRecord
		if err := json.Unmarshal(line, &r); err != nil {
			w.Fatalf("%v in %s", err, line)
		}
		if r.Type == typ {
			all = append(all, r)
		}
	}
	return all
}

// lessIsBetter: a score to minimise picks the shorter trip, and is rescaled.
func lessIsBetter(t *testing.T, trials map[string]trialview.TrialStatus) {
	rounds := trials["towns improver"].Rounds
	if len(rounds) < 2 || *rounds[1].Report.Score >= *rounds[0].Report.Score {
		t.Fatalf("the second trip is not shorter: %+v", rounds)
	}
	oracle := trials["towns oracle"].Rounds[0].Report
	if best := rounds[1].Report; *best.Score100 <= 70 || *best.Score100 >= *oracle.Score100 {
		t.Errorf("rescaled: %v, and %v for the oracle", *best.Score100, *oracle.Score100)
	}
}

// nothingToSteal: with the answers in another container, looking for them finds nothing.
func nothingToSteal(t *testing.T, trials map[string]trialview.TrialStatus) {
	for name, x := range trials {
		for _, r := range x.Rounds {
			if r.Report.Isolation != "staged" {
				t.Errorf("%s %s was judged %s", name, r.Round, r.Report.Isolation)
			}
		}
	}
	if r := trials["language burglar"].Rounds[0].Report; r.PassRate > 0.5 {
		t.Errorf("the burglar has %v of the answers", r.PassRate)
	}
}

// overfittingLoses: every open test passed, and the private set says otherwise.
func overfittingLoses(t *testing.T, trials map[string]trialview.TrialStatus) {
	rate := 0.0
	for _, r := range trials["week memoriser"].Rounds {
		rate = max(rate, r.Report.PassRate)
	}
	if rate != 1 {
		t.Errorf("the memoriser has %v of the open tests", rate)
	}
}

func improves(t *testing.T, rounds []trialview.Round) {
	t.Helper()
	last := 0.0
	for _, r := range rounds {
		if r.Report == nil || r.Report.Status != round.StatusOK || r.Report.PassRate <= last {
			t.Errorf("%s does not improve on %v: %+v", r.Round, last, r.Report)
			return
		}
		last = r.Report.PassRate
	}
	if len(rounds) != 4 || last != 1 {
		t.Errorf("%d rounds end at %v, want 4 that end at 1", len(rounds), last)
	}
}
