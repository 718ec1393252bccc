package keylock

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// What has one key is done by one at a time, whoever waits may leave, and what is over leaves nothing.
func TestAKeyHasOneTurnAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var turns Locks
		var now, most atomic.Int32
		for range 20 {
			go func() {
				release, err := turns.Lock(t.Context(), "a")
				if err != nil {
					t.Error(err)
					return
				}
				defer release()
				if n := now.Add(1); n > most.Load() {
					most.Store(n)
				}
				time.Sleep(time.Second)
				now.Add(-1)
			}()
		}
		other, err := turns.Lock(t.Context(), "b")
		if err != nil {
			t.Fatal(err)
		}
		impatient, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := turns.Lock(impatient, "b"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("who waits too long: %v", err)
		}
		if _, ok := turns.TryLock("b"); ok {
			t.Error("a lock that is held is had by trying")
		}
		other()
		tried, ok := turns.TryLock("b")
		if !ok {
			t.Fatal("a lock that nobody holds is not had")
		}
		later, leave := context.WithTimeout(t.Context(), time.Minute)
		defer leave()
		if _, err := turns.Lock(later, "b"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a lock that was tried for is had twice: %v", err)
		}
		tried()
		synctest.Wait()
		if most.Load() != 1 || len(turns.held) != 0 {
			t.Errorf("%d at a time, and %d keys are left", most.Load(), len(turns.held))
		}
	})
}
