package game

import (
	"testing"

	"github.com/assayd/assayd/runtime/task"
)

func TestWhatAGameIsWorth(t *testing.T) {
	for _, tc := range []struct {
		peak, max, rate float64
	}{{0, 0, 0}, {5, 0, 0}, {-5, 10, 0}, {5, 10, .5}, {20, 10, 1}, {2.5, 10, .25}, {5, -10, 0}} {
		n := standing{peak: tc.peak, max: tc.max}
		if r := n.report(task.Task{}); r.PassRate != tc.rate || *r.Score != tc.peak || r.Score100 != nil {
			t.Errorf("%v of %v: rate %v, score %v", tc.peak, tc.max, r.PassRate, *r.Score)
		}
	}
}
