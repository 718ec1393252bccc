//go:build linux

package daemon_test

import (
	"testing"

	"github.com/assayd/assayd/runtime/fault"
)

// ofMixedRuns are the points between what is drawn of real and changed tests and what they show.
var ofMixedRuns = []lap{
	{at: fault.MixedDrawn, lead: mixedUp},
	{at: fault.MixedAsked, lead: mixedUp},
	{at: fault.MixedJudged, lead: mixedUp},
}

// Wherever between its mixed runs the daemon of a trial is killed, each of them counts once, and
// none is lost.
func TestACrashBetweenMixedRunsCountsEachOnce(t *testing.T) {
	t.Parallel()
	crashBetweenMixedRuns(t, partOf(ofMixedRuns, 3))
}

func crashBetweenMixedRuns(t *testing.T, laps []lap) {
	t.Helper()
	c := newCrashes(t)
	c.torn = "extra1.run.extra1.jsonl"
	c.write("r.hcl", c.withDecoys())
	c.start()
	c.through(laps)
	c.finished()
	c.everyMixedRunCountsOnce(len(laps))
	c.over()
}
