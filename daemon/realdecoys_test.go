//go:build real

package daemon_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/assayd/assayd/reconcile/query/trialview"
	"github.com/assayd/assayd/runtime/trial"
)

// Tasks made of real pull requests have decoys: each test that is to be made to pass has one,
// or the verdict says why it has none. The oracle is resolved and passes none, and nop passes
// none. What share of the hidden tests has a decoy is printed.
func TestRealDecoys(t *testing.T) {
	pulls := realPulls(t)
	for _, language := range []string{"go", "javascript", "python", "rust"} {
		t.Run(language, func(t *testing.T) {
			own := slices.DeleteFunc(slices.Clone(pulls), func(p pull) bool { return p.Language != language })
			w := newFixture(t)
			run := w.makeTrue(writeSpec(t, w.specs, w.bench, own, realRun{Agents: []string{"oracle", "nop"}, Parallel: 2, Decoys: 4}))
			w.noContainerIsLeft()
			log := readResults(t, run.Results)
			for _, p := range own {
				oracle, nop := trialOf(t, run, p, "oracle"), trialOf(t, run, p, "nop")
				checkFinished(t, p, oracle, log, trial.Resolved, true)
				checkFinished(t, p, nop, log, trial.Unresolved, false)
				p.checkDecoys(t, oracle, log)
				if d := log.finished[nop.ID].Decoys; d == nil || passedDecoys(d) > 0 {
					t.Errorf("%s: nop: %s", p.ID, d)
				}
			}
		})
	}
}

// checkDecoys prints what decoys a pull request has, and checks that the oracle passes none.
func (p pull) checkDecoys(t *testing.T, x trialview.TrialStatus, log results) {
	t.Helper()
	d := log.finished[x.ID].Decoys
	if d == nil {
		t.Errorf("%s: the verdict does not tell of decoys", p.ID)
		return
	}
	hidden := len(p.FailToPass) + len(p.PassToPass)
	t.Logf("%s: %d of %d tests that are to be made to pass have decoys (%d of all %d): %s", p.ID, d.Checked, len(p.FailToPass), d.Checked, hidden, d)
	known := map[string]string{} // by test, what is told of it
	for _, u := range d.Unchecked {
		known[u.Test] = "none: " + u.Reason
	}
	for _, r := range d.Rounds {
		for _, test := range r.Tests {
			known[test.Test] = fmt.Sprintf("%d decoys, %d laid, %d passed, sides %v", test.Made, test.Used, test.Passed, test.Side)
			if test.Used == 0 || test.Passed > 0 {
				t.Errorf("%s: %s: %s", p.ID, test.Test, known[test.Test])
			}
		}
	}
	for _, name := range p.FailToPass {
		t.Logf("    %s: %s", name, known[name])
		if d.Reason == "" && strings.TrimPrefix(known[name], "none: ") == "" {
			t.Errorf("%s: nothing is told of %s", p.ID, name)
		}
	}
	if d.Checked > 0 && len(d.Rounds) == 0 {
		t.Errorf("%s: the oracle was not judged again", p.ID)
	}
}
