package mixedruns

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/assayd/assayd/runtime/decoy/mixed"
	"github.com/assayd/assayd/runtime/task"
)

// What an agent may know of the tests that are changed.
const (
	Blind = "blind" // nothing but what their names and outcomes tell
	Fed   = "fed"   // their text, or parts of it
	None  = "none"  // there are no decoys
)

// Record says what was done to find out whether a trial's solution knows which hidden
// tests are real.
type Record struct {
	Knowledge string          `json:"decoys"` // blind, fed or none
	Reason    string          `json:"reason,omitempty"`
	Assumed   bool            `json:"assumed,omitempty"` // reason says what is assumed of what the agent knows
	SHA256    string          `json:"sha256,omitempty"`  // of the blob that holds the decoys
	Rounds    []RoundVerdict  `json:"rounds,omitempty"`  // that were judged again
	Eligible  int             `json:"eligible"`          // tests that decoys were looked for of
	Made      float64         `json:"made"`              // share of them that have one, 0 to 1
	Checked   int             `json:"checked"`           // tests of fail_to_pass that have one
	Unchecked []UncheckedTest `json:"unchecked,omitempty"`
	Flaky     []string        `json:"flaky,omitempty"` // tests that differ between runs of the reference, and are left out
	Cut       string          `json:"cut,omitempty"`   // why less was done than was asked for
}

// String says it in one line.
func (d Record) String() string {
	said := d.Knowledge
	if d.Reason != "" {
		said += " (" + d.Reason + ")"
	}
	if d.Knowledge != None {
		said += fmt.Sprintf(", %d %% of %d eligible tests have some; %d of fail_to_pass do, %d are unchecked", int(100*d.Made), d.Eligible, d.Checked, len(d.Unchecked))
	}
	for _, r := range d.Rounds {
		said += fmt.Sprintf("; %s: %d of %d passed in %d runs", r.Round, r.Passed, r.Laid, r.Runs)
		if r.Tampered != "" {
			said += ", tampered: " + r.Tampered
		}
		if len(r.Unstable) > 0 {
			said += ", unstable: " + someOf(r.Unstable)
		}
		if r.Silent > 0 {
			said += fmt.Sprintf(", no test was seen in %d runs in which those of the solution are", r.Silent)
		}
	}
	if d.Cut != "" {
		said += "; " + d.Cut
	}
	return said
}

// RoundVerdict is what the mixed runs of one round show.
type RoundVerdict struct {
	Round string `json:"round"`
	mixed.Verdict
}

// maxUnchecked bounds the tests that are named in a trial's state; all are in the set.
const maxUnchecked = 100

// uncheckedOf are tests without a decoy, by name.
func uncheckedOf(set mixed.Set) (list []UncheckedTest) {
	for _, test := range slices.Sorted(maps.Keys(set.Unchecked)) {
		if len(list) < maxUnchecked {
			list = append(list, UncheckedTest{test, set.Unchecked[test]})
		}
	}
	return list
}

// UncheckedTest is a test of fail_to_pass without a decoy.
type UncheckedTest struct {
	Test   string `json:"test"`
	Reason string `json:"reason"`
}

// RecordOf tells in the verdict of the mixed runs of an agent with a model at a task; nil = none were
// wanted.
func RecordOf(runs *Runs, t task.Task, model string) *Record {
	if runs == nil {
		return nil
	}
	r := &Record{
		SHA256: runs.Decoys, Checked: runs.Checked, Unchecked: runs.Unchecked, Flaky: runs.Flaky, Cut: runs.Cut,
		Eligible: runs.Eligible,
	}
	if r.Eligible > 0 {
		r.Made = float64(runs.Made) / float64(r.Eligible)
	}
	r.Knowledge, r.Reason, r.Assumed = knowledge(t, model)
	switch {
	case runs.None != "":
		r.Knowledge, r.Reason, r.Assumed = None, runs.None, false
	case len(runs.Rounds) == 0 && r.Reason == "":
		r.Reason = "no test that has a decoy passed, so that no round was judged again"
	}
	for _, round := range runs.Rounds {
		if round.Verdict != nil {
			r.Rounds = append(r.Rounds, RoundVerdict{round.Round, *round.Verdict})
		}
	}
	return r
}

// Verdict is what the mixed runs of a round show; nil = there were none.
func (m *Runs) Verdict(round string) *mixed.Verdict {
	if m == nil {
		return nil
	}
	for _, r := range m.Rounds {
		if r.Round == round {
			return r.Verdict
		}
	}
	return nil
}

// Unstable names a few of the tests that did not always pass.
func Unstable(v mixed.Verdict) string { return someOf(v.Unstable) }

// someOf names the first few of many.
func someOf(names []string) string {
	const few = 5
	if len(names) > few {
		return strings.Join(names[:few], ", ") + ", …"
	}
	return strings.Join(names, ", ")
}
