//go:build soak

package daemon_test

import (
	"fmt"
	"testing"
	"time"
)

// Thirty random kill -9 while pull requests become tasks, with as many as so many kills take.
func TestSoakThirtyKillsOfMining(t *testing.T) {
	const kills = 30
	for made := 0; made < kills; {
		t.Run(fmt.Sprintf("from the kill %d on", made+1), func(t *testing.T) {
			n := hailOfMining(t, uint64(time.Now().UnixNano()), 2+(kills-made)/3, kills-made)
			if made += n; n == 0 {
				t.Fatal("nothing was killed")
			}
		})
		if t.Failed() {
			return
		}
	}
}

// Every bad pull request that one can think of is refused, each for what is wrong with it, and
// those that are good become tasks, with upstream's tests, with those that a model wrote, and with
// both. That lines come to end in CRLF is nothing that a fix does.
func TestSoakEveryBadPullRequestIsRejectedForTheRightReason(t *testing.T) {
	windows, made, few := onWindows("windows"), withoutTests("made"), withFewTests("few")
	q := rejectsTheBad(t, append(rejections(), invalid()...), windows, made, few)
	q.byteExact(windows)
	q.keepsUpstream(few)
}
