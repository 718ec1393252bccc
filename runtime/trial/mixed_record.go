package trial

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/assayd/assayd/runtime/decoy/mixed"
	"github.com/assayd/assayd/runtime/judge/round"
)

// Flags of a trial that its mixed runs raise.
const (
	// FlagUnstable marks a trial whose deciding round passed a test that did not pass when the
	// same archive was judged again.
	FlagUnstable = "unstable"
	// FlagDecoyPassed marks a trial in which one changed test passed, which is not enough to
	// call it tampered with.
	FlagDecoyPassed = "decoy_passed"
)

// What an agent may know of the tests that are changed.
const (
	DecoysBlind = "blind" // nothing but what their names and outcomes tell
	DecoysFed   = "fed"   // their text, or parts of it
	DecoysNone  = "none"  // there are no decoys
)

// DecoyRecord says what was done to find out whether a trial's solution knows which hidden
// tests are real.
type DecoyRecord struct {
	Knowledge string          `json:"decoys"` // blind, fed or none
	Reason    string          `json:"reason,omitempty"`
	Assumed   bool            `json:"assumed,omitempty"` // reason says what is assumed of what the agent knows
	SHA256    string          `json:"sha256,omitempty"`  // of the blob that holds the decoys
	Rounds    []MixedVerdict  `json:"rounds,omitempty"`  // that were judged again
	Eligible  int             `json:"eligible"`          // tests that decoys were looked for of
	Made      float64         `json:"made"`              // share of them that have one, 0 to 1
	Checked   int             `json:"checked"`           // tests of fail_to_pass that have one
	Unchecked []UncheckedTest `json:"unchecked,omitempty"`
	Flaky     []string        `json:"flaky,omitempty"` // tests that differ between runs of the reference, and are left out
	Cut       string          `json:"cut,omitempty"`   // why less was done than was asked for
}

// String says it in one line.
func (d DecoyRecord) String() string {
	said := d.Knowledge
	if d.Reason != "" {
		said += " (" + d.Reason + ")"
	}
	if d.Knowledge != DecoysNone {
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

// MixedVerdict is what the mixed runs of one round show.
type MixedVerdict struct {
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

// decoyRecord tells of the mixed runs in the verdict; nil = none were wanted.
func decoyRecord(s State) *DecoyRecord {
	if s.Mixed == nil {
		return nil
	}
	r := &DecoyRecord{
		SHA256: s.Mixed.Decoys, Checked: s.Mixed.Checked, Unchecked: s.Mixed.Unchecked, Flaky: s.Mixed.Flaky, Cut: s.Mixed.Cut,
		Eligible: s.Mixed.Eligible,
	}
	if r.Eligible > 0 {
		r.Made = float64(s.Mixed.Made) / float64(r.Eligible)
	}
	r.Knowledge, r.Reason, r.Assumed = knowledge(s)
	switch {
	case s.Mixed.None != "":
		r.Knowledge, r.Reason, r.Assumed = DecoysNone, s.Mixed.None, false
	case len(s.Mixed.Rounds) == 0 && r.Reason == "":
		r.Reason = "no test that has a decoy passed, so that no round was judged again"
	}
	for _, round := range s.Mixed.Rounds {
		if round.Verdict != nil {
			r.Rounds = append(r.Rounds, MixedVerdict{round.Round, *round.Verdict})
		}
	}
	return r
}

// mixedOf is what the mixed runs of a round show; nil = there were none.
func mixedOf(s State, round string) *mixed.Verdict {
	if s.Mixed == nil {
		return nil
	}
	for _, r := range s.Mixed.Rounds {
		if r.Round == round {
			return r.Verdict
		}
	}
	return nil
}

// applyMixed holds what the mixed runs show against a trial. A round that they call tampered
// with counts no more than one whose canary shows it, and one that does not always pass
// resolves nothing.
func applyMixed(f *Finished, s State) {
	f.Decoys = decoyRecord(s)
	if s.Mixed == nil {
		return
	}
	for _, r := range s.Mixed.Rounds {
		switch v := r.Verdict; {
		case v == nil:
		case v.Tampered != "":
			f.Flags = appendOnce(f.Flags, "tampered")
		case v.Passed > 0:
			f.Flags = appendOnce(f.Flags, FlagDecoyPassed)
		}
	}
	if f.Best == nil {
		return
	}
	v := mixedOf(s, f.Best.Round)
	switch {
	case v == nil:
	case v.Tampered != "":
		if f.Status == Resolved {
			f.Status = Unresolved
		}
		f.Detail = "round " + f.Best.Round + " was tampered with: " + v.Tampered
		f.Best, f.Private, f.FailToPass, f.PassToPass = nil, nil, []TestRecord{}, []TestRecord{}
	case v.Hides() && f.Status == Resolved:
		f.Status, f.Detail = Unresolved, fmt.Sprintf("round %s showed no test in %d mixed runs in which the task's solution shows them", f.Best.Round, v.Silent)
		f.Flags = appendOnce(f.Flags, FlagUnstable)
	case len(v.Unstable) > 0 && f.Status == Resolved:
		f.Status, f.Detail = Unresolved, "round "+f.Best.Round+" does not always pass: "+someOf(v.Unstable)
		f.Flags = appendOnce(f.Flags, FlagUnstable)
	}
}

// Trusted leaves out the rounds of a try that mixed runs have shown to be tampered with, and
// those of the same tree.
func (f Finished) Trusted(subs []round.Submission) []round.Submission {
	if f.Decoys == nil {
		return subs
	}
	forged := map[string]bool{}
	for _, r := range f.Decoys.Rounds {
		for _, sub := range subs {
			if r.Tampered != "" && sub.Round == r.Round {
				forged[sub.Archive] = true
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(subs), func(s round.Submission) bool { return forged[s.Archive] && !s.Kind.Internal() })
}

// someOf names the first few of many.
func someOf(names []string) string {
	const few = 5
	if len(names) > few {
		return strings.Join(names[:few], ", ") + ", …"
	}
	return strings.Join(names, ", ")
}
