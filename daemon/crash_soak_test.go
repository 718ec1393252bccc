//go:build soak

package daemon_test

import (
	"fmt"
	"testing"
	"time"
)

// Twenty random kill -9 in a run of eight trials, five runs in a row.
func TestSoakTwentyCrashesOfEightTrialsFiveTimes(t *testing.T) {
	for i := range 5 {
		t.Run(fmt.Sprint(i+1), func(t *testing.T) { hail(t, uint64(time.Now().UnixNano()), 8, 20) })
	}
}
