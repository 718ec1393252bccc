package reconcile

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/assayd/assayd/runtime/decoy"
	"github.com/assayd/assayd/runtime/trial"
	"github.com/assayd/assayd/runtime/vet"
)

// CheckedDecoys says which tests of a task have decoys.
type CheckedDecoys struct {
	Tests     int                   `json:"tests"`   // of fail_to_pass
	Checked   int                   `json:"checked"` // of them, those with a decoy
	Decoys    int                   `json:"decoys"`
	Weak      int                   `json:"weak"`           // decoys that never decide alone
	Sides     map[decoy.Side]int    `json:"sides"`          // decoys by what they change
	None      string                `json:"none,omitempty"` // why there are none
	Unchecked []trial.UncheckedTest `json:"unchecked,omitempty"`
	Flaky     []string              `json:"flaky,omitempty"`
	Cut       string                `json:"cut,omitempty"`
	SHA256    string                `json:"sha256"`
}

// String says it in one line.
func (c CheckedDecoys) String() string {
	switch {
	case c.None != "":
		return "none (" + c.None + ")"
	case c.Cut != "":
		return fmt.Sprintf("%d of %d tests (%s)", c.Checked, c.Tests, c.Cut)
	}
	return fmt.Sprintf("%d of %d tests", c.Checked, c.Tests)
}

// decoys finds out which tests have decoys: those that trials are held against. A task that
// is broken has none.
func (k *checking) decoys(ctx context.Context) error {
	if k.task.Judge.Decoys == 0 || vet.Verdict(k.out.Findings) == string(vet.Breaks) {
		return nil
	}
	hidden, err := k.r.o.Host.Images.Hidden(k.task)
	if err != nil {
		return err
	}
	state := k.state
	state.Hidden = hidden
	known, err := k.r.decoys(ctx, trial.Subject{State: state, Task: k.task, Work: k.work})
	if err != nil {
		return err
	}
	out := &CheckedDecoys{
		Tests: len(k.task.FailToPass), Checked: known.Set.Checked(), None: known.Set.None, Flaky: known.Set.Flaky, Cut: known.Set.Cut,
		SHA256: known.Digest, Sides: map[decoy.Side]int{},
	}
	for _, g := range known.Set.Groups {
		for _, d := range g.Decoys {
			out.Decoys++
			out.Sides[d.Side]++
			if d.Weak {
				out.Weak++
			}
		}
	}
	for _, test := range slices.Sorted(maps.Keys(known.Set.Unchecked)) {
		out.Unchecked = append(out.Unchecked, trial.UncheckedTest{Test: test, Reason: known.Set.Unchecked[test]})
	}
	k.out.Decoys = out
	return nil
}
