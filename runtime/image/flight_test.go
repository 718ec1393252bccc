package image

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
)

func TestEqualWorkIsDoneOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var fs flights
		var wg sync.WaitGroup
		release, runs := make(chan struct{}), 0
		for range 5 {
			wg.Go(func() {
				n, err := fs.do(t.Context(), "key", func(context.Context) (Built, error) {
					runs++
					<-release
					return Built{ID: "7"}, nil
				})
				if n.ID != "7" || err != nil {
					t.Errorf("got %+v, %v", n, err)
				}
			})
		}
		synctest.Wait()
		close(release)
		wg.Wait()
		if runs != 1 {
			t.Errorf("the work ran %d times", runs)
		}
	})
}

func TestWorkGoesOnWhileOneStillWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var fs flights
		var wg sync.WaitGroup
		release := make(chan struct{})
		work := func(ctx context.Context) (Built, error) {
			select {
			case <-release:
				return Built{ID: "7"}, nil
			case <-ctx.Done():
				return Built{}, context.Cause(ctx)
			}
		}
		impatient, leave := context.WithCancel(t.Context())
		wg.Go(func() {
			if _, err := fs.do(impatient, "key", work); !errors.Is(err, context.Canceled) {
				t.Errorf("who left got %v", err)
			}
		})
		synctest.Wait()
		wg.Go(func() {
			if n, err := fs.do(t.Context(), "key", work); n.ID != "7" || err != nil {
				t.Errorf("who stayed got %+v, %v", n, err)
			}
		})
		synctest.Wait()
		leave()
		synctest.Wait()
		close(release)
		wg.Wait()
	})
}

func TestTheLastToLeaveSeesTheWorkEndBeforeItStartsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var fs flights
		var wg sync.WaitGroup
		ended, busy := make(chan struct{}), false
		ctx, leave := context.WithCancel(t.Context())
		wg.Go(func() {
			_, err := fs.do(ctx, "key", func(ctx context.Context) (Built, error) {
				busy = true
				<-ctx.Done()
				<-ended // a slow clean-up
				busy = false
				return Built{}, context.Cause(ctx)
			})
			if busy || !errors.Is(err, context.Canceled) {
				t.Errorf("left with busy=%t, %v", busy, err)
			}
		})
		synctest.Wait()
		leave()
		synctest.Wait()
		wg.Go(func() {
			got, err := fs.do(t.Context(), "key", func(context.Context) (Built, error) {
				if busy {
					t.Error("two at once")
				}
				return Built{ID: "second"}, nil
			})
			if got.ID != "second" || err != nil {
				t.Errorf("got %+v, %v", got, err)
			}
		})
		synctest.Wait()
		close(ended)
		wg.Wait()
	})
}
