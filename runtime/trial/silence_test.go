package trial

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/assayd/assayd/runtime/trial/record"
)

// A guest that is not heard of is told of once, and once when it is heard again.
func TestASilentGuestIsAnEvent(t *testing.T) {
	b := newFixture(t)
	speak := make(chan struct{})
	b.play(func(ctx context.Context, g *scripted) int {
		g.hello(ctx)
		<-speak
		g.post(ctx, "/v1/log?offset=0", "again", nil)
		<-ctx.Done()
		return 137
	})
	m := b.machine(b.fresh())
	s, _ := b.until(m, b.fresh(), Running)
	m.answer() // the guest's hello, as the next step would
	look := func(want string) {
		t.Helper()
		var got string
		for _, e := range m.silence(s) {
			got += e.Fields.(record.Happened).Event
		}
		if got != want {
			t.Errorf("it is told %q, want %q", got, want)
		}
	}
	look("")
	long := time.Now().Add(-2 * guestSilence)
	heard := m.handle.heard
	m.handle.heard = func() time.Time { return long }
	look("guest_silent")
	look("")
	var calls []string
	b.fake.Intercept(func(call, _ string) error {
		if call == "Freeze" || call == "Thaw" {
			calls = append(calls, call)
		}
		return nil
	})
	s.NextAuto = time.Time{}
	for range 3 {
		if _, _, err := m.woke(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(calls, []string{"Freeze", "Thaw"}) {
		t.Errorf("an engine that has forgotten a freeze is asked by %v", calls)
	}
	b.fake.Intercept(nil)
	before := heard()
	close(speak)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !heard().After(before) {
		<-tick.C
	}
	m.handle.heard = heard
	look("guest_back")
	look("")
}
