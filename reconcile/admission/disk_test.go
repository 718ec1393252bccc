package admission

import (
	"strings"
	"testing"
)

// Below 5 GiB nothing begins, not even the first, and who waits is told why. Nobody tells that
// others have freed some of the disk: it is looked at again.
func TestNothingBeginsOnAShortDisk(t *testing.T) {
	t.Parallel()
	left, woken := int64(5<<30-1), make(chan struct{}, 1)
	a := New(Limits{CPUs: 4, Memory: 8 << 30, Disk: 100 << 30}, func() int64 { return left }, func() {
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
