//go:build soak && linux

package daemon_test

import (
	"slices"
	"testing"
)

func TestSoakACrashAtEachPointOfATrialCostsNothing(t *testing.T) { crashOfATrial(t, ofATrial) }

func TestSoakACrashAtEachPointOfOtherWorkCostsNothing(t *testing.T) {
	crashOfOtherWork(t, ofOtherWork)
}

func TestSoakACrashBetweenMixedRunsCountsEachOnce(t *testing.T) {
	crashBetweenMixedRuns(t, slices.Repeat(ofMixedRuns, 6))
}
