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
