//go:build linux

package daemon_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/assayd/assayd/runtime/fault"
)

// deceit is the work of an agent that searches the history to come, and says so in its log.
const deceit = quick + `
echo '$ git log --all -p -S answer'
`

// A trial whose daemon is killed between its verdict and the end of the look at what its agent did is
// flagged exactly once, after its verdict, and before its run is over.
func TestATrialIsFlaggedOnceWhereverTheDaemonIsKilled(t *testing.T) {
	t.Parallel()
	c := newCrashes(t)
	c.torn = "extra1.run.extra1.jsonl"
	c.write("r.hcl", c.benchmark())
	c.start()
	dishonest := func(c *crashes) { c.another(c.bench, deceit) }
	c.through(append(partOf([]lap{
		{at: fault.TrialFinished, lead: dishonest},
		{at: fault.TrialCleaned, lead: dishonest},
		{at: fault.TrialScanned, lead: dishonest},
	}, 3), lap{at: fault.TrialFlagged, lead: dishonest}, lap{at: fault.TrialFlagged, lead: anew}))
	c.finished()
	for n := 1; n <= c.extra; n++ {
		var types []string
		for _, r := range c.records(fmt.Sprintf("extra%d.run.extra%d.jsonl", n, n)) {
			if slices.Contains([]string{"trial.finished", "trial.flagged", "run.finished"}, r.Type) {
				types = append(types, r.Type)
			}
		}
		want := "trial.finished trial.flagged run.finished"
		if n == c.extra { // an honest one
			want = "trial.finished run.finished"
		}
		if got := strings.Join(types, " "); got != want {
			t.Errorf("the records of run %d: %s, want %s", n, got, want)
		}
	}
	c.over()
}
