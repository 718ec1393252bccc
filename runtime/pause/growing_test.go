package pause

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestPausesGrowUntilAnAttemptSucceeds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p Growing
		took := func() time.Duration {
			began := time.Now()
			p.Wait(t.Context())
			return time.Since(began)
		}
		for _, want := range []time.Duration{250 * time.Millisecond, 500 * time.Millisecond, time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 10 * time.Second, 10 * time.Second} {
			if got := took(); got < want*3/4 || got > want*5/4 {
				t.Errorf("a pause of %s, want %s and a quarter at most", got, want)
			}
		}
		p.Reset()
		if got := took(); got > 400*time.Millisecond {
			t.Errorf("after success it begins with %s", got)
		}
		over, cancel := context.WithCancel(t.Context())
		cancel()
		began := time.Now()
		if p.Wait(over); time.Since(began) != 0 {
			t.Error("it waits after its context's end")
		}
	})
}
