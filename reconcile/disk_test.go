package reconcile

import (
	"strings"
	"testing"

	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/task"
	"github.com/assayd/assayd/runtime/trial"
)

// Below 5 GiB nothing begins, not even the first, and who waits is told why. Nobody tells that
// others have freed some of the disk: it is looked at again.
func TestNothingBeginsOnAShortDisk(t *testing.T) {
	t.Parallel()
	left, woken := int64(5<<30-1), make(chan struct{}, 1)
	a := NewAdmission(Limits{CPUs: 4, Memory: 8 << 30, Disk: 100 << 30}, func() int64 { return left }, func() {
		select {
		case woken <- struct{}{}:
		default:
		}
	})
	n := Need{CPUs: 1, Memory: 1 << 30, Disk: 1 << 30}
	for range 2 {
		if a.TryWork(n) {
			t.Error("a container is admitted")
		}
	}
	if text := a.explain(n); !strings.Contains(text, "the disk has 5.0 GiB left, and nothing starts below 5.0 GiB") {
		t.Errorf("it is said: %s", text)
	}
	a.mu.Lock()
	looks := a.again.Reset(0) // instead of ten seconds
	a.mu.Unlock()
	<-woken
	left++
	if !looks || !a.TryWork(n) {
		t.Error("with 5 GiB nothing is admitted")
	}
	if a.Scarce() {
		t.Error("5 GiB are scarce for those that run")
	}
	if left = 5<<29 - 1; !a.Scarce() {
		t.Error("less than 2.5 GiB are not")
	}
	if left = -1; a.Scarce() {
		t.Error("a disk that is not known is")
	}
	if !a.TryWork(n) {
		t.Error("where the disk is not known nothing is admitted")
	}
}

// Of the disk as much is reserved as containers of the task were seen to take, and a fifth, and
// no more than they may.
func TestTheDiskThatIsReservedIsWhatWasSeen(t *testing.T) {
	h := newHouse(t)
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
