package watch

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

func TestSettler(t *testing.T) {
	const ms = time.Millisecond
	tests := []struct {
		name   string
		nudges []time.Duration // since the start
		want   []time.Duration // of the ticks, since the start
	}{
		{"nothing happens", nil, nil},
		{"one nudge ticks after the quiet time", []time.Duration{0}, []time.Duration{100 * ms}},
		{"a burst is one tick, quiet after its last", []time.Duration{0, 50 * ms, 120 * ms}, []time.Duration{220 * ms}},
		{"two bursts are two ticks", []time.Duration{0, 500 * ms}, []time.Duration{100 * ms, 600 * ms}},
		{"a stream is cut at the limit", every(90*ms, 30), []time.Duration{2000 * ms, 2710 * ms}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				if got := ticks(tt.nudges); !slices.Equal(got, tt.want) {
					t.Errorf("ticks at %v, want %v", got, tt.want)
				}
			})
		})
	}
}

func TestSettlerPending(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSettler(time.Second, time.Minute)
		if s.pending() {
			t.Error("pending before any nudge")
		}
		s.nudge()
		if !s.pending() {
			t.Error("not pending after a nudge")
		}
		s.done()
		if s.pending() {
			t.Error("pending after done")
		}
		select {
		case <-s.tick():
			t.Error("a tick after done")
		case <-time.After(time.Hour):
		}
	})
}

// ticks plays the nudges and returns when the settler ticked, until an hour is over.
func ticks(nudges []time.Duration) []time.Duration {
	s := newSettler(100*time.Millisecond, 2*time.Second)
	start := time.Now()
	end := time.After(time.Hour)
	var got []time.Duration
	for {
		var next <-chan time.Time
		if len(nudges) > 0 {
			next = time.After(nudges[0] - time.Since(start))
		}
		select {
		case <-next:
			s.nudge()
			nudges = nudges[1:]
		case <-s.tick():
			s.done()
			got = append(got, time.Since(start))
		case <-end:
			return got
		}
	}
}

func every(step time.Duration, n int) []time.Duration {
	var all []time.Duration
	for i := range n {
		all = append(all, time.Duration(i)*step)
	}
	return all
}
