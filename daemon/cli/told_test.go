package cli

import (
	"bytes"
	"io"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/reconcile/query"
	"github.com/assayd/assayd/reconcile/query/trialview"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/trial"
)

// failed is a trial that its judge failed.
func failed(id, detail string) trialview.TrialStatus {
	return trialview.TrialStatus{ID: id, Try: 1, Task: "t", Agent: "nop", Status: trial.SetupError, Reason: trial.ReasonJudge, Detail: detail}
}

// TestWhatWentWrongIsSaidOnce, whatever says it: the line of a round, those of trials and of a
// second try, and the outcome.
func TestWhatWentWrongIsSaidOnce(t *testing.T) {
	const problem, detail = "no test result found", "a.hcl:3: the judge fails: no test result found"
	invalid := &round.Report{Status: round.StatusInvalid, Problem: problem}
	first, second, third := failed("a", detail), failed("b", detail), failed("c", "another")
	first.Rounds = []trialview.Round{{Round: "agent-1", State: round.StateJudged, Report: invalid}}
	retried := failed("a", detail)
	retried.Try = 2

	var lines, table bytes.Buffer
	p := progress{e: &env{err: &lines}, seen: map[string]bool{}}
	for _, x := range []trialview.TrialStatus{first, second, third, second, retried} {
		p.events(x)
	}
	want := `a: agent-1 invalid (no test result found)
a: setup_error (judge): a.hcl:3: the judge fails
b: setup_error (judge), as a
c: setup_error (judge): another
a: setup_error (judge), try 2
`
	if diff := cmp.Diff(want, lines.String()); diff != "" {
		t.Error(diff)
	}
	all := []trialview.TrialStatus{first, second, third, failed("d", detail), failed("e", detail)}
	showDetails(&table, "  ", all, told{})
	if diff := cmp.Diff("  a, b, d and 1 more: "+detail+"\n  c: another\n", table.String()); diff != "" {
		t.Error(diff)
	}
	table.Reset()
	showDetails(&table, "", all, p.told)
	if table.Len() > 0 {
		t.Errorf("said again: %s", &table)
	}
}

func TestTheOutcomeLeavesOutWhatItsReaderHasSeen(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = r.Close(), w.Close() }()
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = null.Close() }()
	for _, c := range []struct {
		out, err io.Writer
		same     bool
	}{{w, w, true}, {w, null, false}, {&bytes.Buffer{}, w, false}} {
		if got := together(c.out, c.err); got != c.same {
			t.Errorf("%T and %T are together: %t", c.out, c.err, got)
		}
	}

	since := time.Now()
	done := func(address string, at time.Time) query.RunStatus {
		x := trialview.TrialStatus{ID: address + ".1", Task: "t", Agent: "nop", Status: trial.Resolved, Started: at, Ended: at}
		return query.RunStatus{Address: address, Execution: 1, State: "finished", Wanted: 1, Trials: []trialview.TrialStatus{x}}
	}
	old, now := done("run.old", since.Add(-time.Minute)), done("run.now", since.Add(time.Second))
	for name, c := range map[string]struct {
		runs []query.RunStatus
		want bool
	}{
		"beside one that was done": {[]query.RunStatus{old, now}, true},
		"alone":                    {[]query.RunStatus{old}, false},
	} {
		p := progress{e: &env{}, since: since}
		var text bytes.Buffer
		if err := showOutcome(&text, followed{runs: c.runs}, p.outcomeOf(followed{runs: c.runs}, nil)); err != nil {
			t.Fatal(err)
		}
		if got := bytes.Contains(text.Bytes(), []byte("run.old e1: finished\nnothing was done for it; to see it: assayd status run.old\n")); got != c.want {
			t.Errorf("%s:\n%s", name, &text)
		}
	}
}

func TestTheTrialToLookAtIsOfAnAgent(t *testing.T) {
	trials := func(agents ...string) (all []trialview.TrialStatus) {
		for _, name := range agents {
			all = append(all, trialview.TrialStatus{ID: name, Agent: name})
		}
		return all
	}
	for want, of := range map[string][]trialview.TrialStatus{
		"mine": trials("oracle", "nop", "mine", "yours"), "oracle": trials("oracle", "nop"), "nop": trials("nop"),
	} {
		if got := closest(of); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// The tests that the judge adds are found however the output comes.
func TestOwnTestsAreFoundInOutput(t *testing.T) {
	for text, want := range map[string]bool{
		"tests/test_a.py::test_36be62352d250002_43 FAILED":    true,
		"--- FAIL: TestC0ffee0123456789 (0.00s)":              true,
		"test_deadbeef and test_36be62352d25 are of the task": false,
	} {
		for _, size := range []int{1, 7, 4096} {
			var own ownTests
			for part := range slices.Chunk([]byte(text), size) {
				if _, err := own.Write(part); err != nil {
					t.Fatal(err)
				}
			}
			if own.seen != want {
				t.Errorf("%q, %d bytes at a time: %v", text, size, own.seen)
			}
		}
	}
}
