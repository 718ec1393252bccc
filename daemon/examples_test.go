package daemon_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/assayd/assayd/reconcile"
	"github.com/assayd/assayd/runtime/judge"
	"github.com/assayd/assayd/runtime/trial"
)

// The first thing a new user runs: three agents, one of which gets better from round to
// round, and an outcome with a table, a curve and the path of the results.
func TestTheQuickstartRunsAsItIs(t *testing.T) {
	w := newWorld(t)
	if err := os.CopyFS(w.specs, os.DirFS("../examples/quickstart")); err != nil {
		t.Fatal(err)
	}
	spec := filepath.Join(w.specs, "quickstart.hcl")
	text, err := exec.CommandContext(t.Context(), binary, "run", "--state", w.state, spec).Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	for _, part := range []string{"STATUS", "2 of 3 resolved", "best pass rate", "╭", "quickstart.run.quickstart.jsonl"} {
		if !bytes.Contains(text, []byte(part)) {
			t.Errorf("the outcome lacks %q:\n%s", part, text)
		}
	}
	again, err := exec.CommandContext(t.Context(), binary, "run", "--json", "--state", w.state, spec).Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, again)
	}
	var outcome struct{ Runs []reconcile.RunStatus }
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

func improves(t *testing.T, rounds []reconcile.Round) {
	t.Helper()
	last := 0.0
	for _, r := range rounds {
		if r.Report == nil || r.Report.Status != judge.StatusOK || r.Report.PassRate <= last {
			t.Errorf("%s does not improve on %v: %+v", r.Round, last, r.Report)
			return
		}
		last = r.Report.PassRate
	}
	if len(rounds) != 4 || last != 1 {
		t.Errorf("%d rounds end at %v, want 4 that end at 1", len(rounds), last)
	}
}
