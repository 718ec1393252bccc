package taskcheck

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/assayd/assayd/reconcile/evaluate"
	"github.com/assayd/assayd/runtime/decoy"
	"github.com/assayd/assayd/runtime/trial"
	"github.com/assayd/assayd/runtime/trial/mixedruns"
	"github.com/assayd/assayd/runtime/vet"
)

// CheckedDecoys says which tests of a task have decoys.
type CheckedDecoys struct {
	Tests     int                       `json:"tests"`          // of fail_to_pass
	Checked   int                       `json:"checked"`        // of them, those with a decoy
	Eligible  int                       `json:"eligible"`       // tests that decoys were looked for of: of pass_to_pass those that are hidden, 16 at most
	Made      float64                   `json:"made"`           // share of them that have one, 0 to 1
	Copies    int                       `json:"copies"`         // decoys in all
	Weak      int                       `json:"weak"`           // decoys that never decide alone
	Sides     map[decoy.Side]int        `json:"sides"`          // decoys by what they change
	None      string                    `json:"none,omitempty"` // why there are none
	Unchecked []mixedruns.UncheckedTest `json:"unchecked,omitempty"`
	Flaky     []string                  `json:"flaky,omitempty"`
	Forger    string                    `json:"forger,omitempty"` // why none was held against a stock forger
	Cut       string                    `json:"cut,omitempty"`
	SHA256    string                    `json:"sha256"`
}

// String says it in one line.
func (c CheckedDecoys) String() string {
	switch {
	case c.None != "":
		return "none (" + c.None + ")"
	}
	said := fmt.Sprintf("%d of %d tests of fail_to_pass, %d %% of %d eligible tests", c.Checked, c.Tests, int(100*c.Made), c.Eligible)
	for _, more := range []string{c.Cut, c.Forger} {
		if more != "" {
			said += " (" + more + ")"
		}
	}
	return said
}

// decoys finds out which tests have decoys: those that trials are held against. A task that
// is broken has none.
func (k *checking) decoys(ctx context.Context) error {
	if vet.Verdict(k.out.Findings) == string(vet.Breaks) {
		return nil
	}
	if none := evaluate.Undecoyed(trial.Subject{Task: k.task}); none != "" {
		k.out.Decoys = &CheckedDecoys{Tests: len(k.task.FailToPass), None: none, Sides: map[decoy.Side]int{}}
		return nil
	}
	if k.task.Judge.Decoys == 0 {
		k.out.Decoys = &CheckedDecoys{Tests: len(k.task.FailToPass), None: "the task wants no mixed runs: decoys = 0", Sides: map[decoy.Side]int{}}
		return nil
	}
	hidden, err := k.r.o.Host.Images.Hidden(k.task)
	if err != nil {
		return err
	}
	state := k.state
	state.Hidden = hidden
	known, err := k.r.o.Evaluator.Decoys(ctx, trial.Subject{State: state, Task: k.task, Work: k.work})
	if err != nil {
		return err
	}
	out := &CheckedDecoys{
		Tests: len(k.task.FailToPass), Checked: known.Set.Checked(), None: known.Set.None, Flaky: known.Set.Flaky, Cut: known.Set.Cut,
		SHA256: known.Digest, Sides: map[decoy.Side]int{}, Eligible: known.Set.Eligible(), Forger: known.Set.Forger,
	}
	if out.Eligible > 0 {
		out.Made = float64(known.Set.Made()) / float64(out.Eligible)
	}
	for _, g := range known.Set.Groups {
		for _, d := range g.Decoys {
			out.Copies++
			out.Sides[d.Side]++
			if d.Weak {
				out.Weak++
			}
		}
	}
	for _, test := range slices.Sorted(maps.Keys(known.Set.Unchecked)) {
		out.Unchecked = append(out.Unchecked, mixedruns.UncheckedTest{Test: test, Reason: known.Set.Unchecked[test]})
	}
	k.out.Decoys = out
	return nil
}
