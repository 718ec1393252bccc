package writequeue

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
)

// Transactions write in the order in which they come, and those that go first before all that wait.
func TestWhoGoesFirstWaitsForOneTransactionAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w Queue
		ctx := t.Context()
		if err := w.Enter(ctx); err != nil {
			t.Fatal(err)
		}
		var order []string
		var all sync.WaitGroup
		waits := func(name string, ctx context.Context) {
			all.Go(func() {
				if err := w.Enter(ctx); err != nil {
					if !errors.Is(err, context.Canceled) {
						t.Error(err)
					}
					return
				}
				order = append(order, name)
				w.Leave()
			})
			synctest.Wait() // it stands in line
		}
		gone, leave := context.WithCancel(ctx)
		waits("a", ctx)
		waits("gone", gone)
		waits("b", ctx)
		waits("first", First(ctx))
		waits("second", First(ctx))
		leave()
		synctest.Wait()
		w.Leave()
		all.Wait()
		if want := []string{"first", "second", "a", "b"}; !slices.Equal(order, want) {
			t.Errorf("they wrote in the order %q, want %q", order, want)
		}
		if w.busy || len(w.first)+len(w.others) > 0 {
			t.Errorf("all are done, and %+v", &w)
		}
	})
}

// Whatever ends the waits, the turn is never lost and never two have it.
func TestATurnToWriteIsNeverLost(t *testing.T) {
	var w Queue
	var all sync.WaitGroup
	writes := 0
	for i := range 200 {
		all.Go(func() {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if i%3 == 0 {
				go cancel()
			}
			if i%2 == 0 {
				ctx = First(ctx)
			}
			if w.Enter(ctx) == nil {
				writes++ // the race detector looks at it
				w.Leave()
			}
		})
	}
	all.Wait()
	if err := w.Enter(t.Context()); err != nil {
		t.Fatal(err)
	}
	if w.Leave(); writes < 100 {
		t.Errorf("%d of 200 wrote", writes)
	}
}
