package retention

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/assayd/assayd/runtime/container"
)

// What could not be removed while the engine was away is removed when it is back, and is
// then forgotten.
func TestOrphansGoWhenTheEngineIsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		away, asked := true, []string{}
		l := newOrphans(func(_ context.Context, id string) error {
			mu.Lock()
			defer mu.Unlock()
			asked = append(asked, id)
			if away {
				return container.ErrUnavailable
			}
			return nil
		})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go l.run(ctx)
		l.add("b")
		l.add("a")
		synctest.Wait()
		mu.Lock()
		if len(asked) > 0 {
			t.Errorf("%q were removed before an engine that broke off could have made them", asked)
		}
		mu.Unlock()
		time.Sleep(10*leftPause + leftPause/2)
		mu.Lock()
		if !slices.Equal(asked[:2], []string{"a", "b"}) || len(asked) != 20 {
			t.Errorf("an engine that is away was asked for %q", asked)
		}
		away, asked = false, nil
		mu.Unlock()
		time.Sleep(time.Hour)
		mu.Lock()
		if !slices.Equal(asked, []string{"a", "b"}) {
			t.Errorf("an engine that is back was asked for %q", asked)
		}
		mu.Unlock()
		l.add("c")
		time.Sleep(time.Hour)
		mu.Lock()
		defer mu.Unlock()
		if !slices.Equal(asked, []string{"a", "b", "c"}) {
			t.Errorf("later it was asked for %q", asked)
		}
	})
}
