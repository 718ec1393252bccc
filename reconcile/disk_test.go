package reconcile

import (
	"testing"

	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/task"
	"github.com/assayd/assayd/runtime/trial"
)

// Of the disk as much is reserved as containers of the task were seen to take, and a fifth, and
// no more than they may.
func TestTheDiskThatIsReservedIsWhatWasSeen(t *testing.T) {
	h := newFixture(t)
	h.write("a.hcl", spec("x"))
	d := h.start()
	of := func(name string, seen int64) trial.State {
		return trial.State{DiskSeen: seen, Cell: trial.Cell{Task: task.Task{Benchmark: "b", Name: name, Work: task.Part{Disk: 10 << 30}}}}
	}
	reserved := func(name string) int64 {
		n, err := d.needOf(t.Context(), of(name, 0))
		check(t, err)
		return n.Disk
	}
	note := func(name string, seen int64) {
		check(t, h.store.Do(t.Context(), func(tx *store.Tx) error { return noteDisk(tx, of(name, seen)) }))
	}
	if got := reserved("t"); got != 1<<30 {
		t.Errorf("unseen: %d", got)
	}
	note("t", 5<<30)
	note("t", 1<<30) // another one took less
	note("other", 9<<30)
	if got := reserved("t"); got != 6<<30 {
		t.Errorf("seen with 5 GiB: %d", got)
	}
	if got := reserved("other"); got != 10<<30 {
		t.Errorf("seen with 9 GiB of 10: %d", got)
	}
}
