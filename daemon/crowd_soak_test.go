//go:build soak && linux

package daemon_test

import (
	"testing"
	"time"
)

// Ten thousand trials, of which a thousand live at once, outlive two crashes of the daemon. Each takes
// as much of the daemon as one of a hundred does, and the loop answers within a second all along.
func TestSoakTenThousandTrialsAtAThousandAtOnce(t *testing.T) {
	few := newCrowd(t, 100, 100)
	least := few.through(0)
	few.endedWell()
	many := newCrowd(t, 10_000, 1000)
	each := many.through(2)
	many.endedWell()
	if each > least*13/10 {
		t.Errorf("%s of CPU for each of ten thousand trials, and %s for one of a hundred", each, least)
	}
	if age := many.oldest(); age > time.Second {
		t.Errorf("the loop was %s old", age)
	}
}

// A thousand trials that all talk at once, over real sockets, take less than one core.
func TestSoakAThousandTrialsThatTalkTakeLessThanACore(t *testing.T) {
	if cores := talks(t, 1000, time.Minute); cores >= 1 {
		t.Errorf("they take %.2f cores", cores)
	}
}
