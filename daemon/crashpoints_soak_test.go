//go:build soak && linux

package daemon_test

import "testing"

func TestSoakACrashAtEachPointOfATrialCostsNothing(t *testing.T) { crashOfATrial(t, ofATrial) }

func TestSoakACrashAtEachPointOfOtherWorkCostsNothing(t *testing.T) {
	crashOfOtherWork(t, ofOtherWork)
}
