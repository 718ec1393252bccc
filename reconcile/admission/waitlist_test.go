package admission

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestWaitlist holds against a model: the first that fits is served, and nobody who fits is left.
func TestWaitlist(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l, now, free := NewWaitlist(nil), time.Unix(0, 0), 0.
		fits := func(n Need) bool { return n.CPUs <= free }
		name := rapid.SampledFrom([]string{"a", "b", "c", "d"})
		t.Repeat(map[string]func(*rapid.T){
			"ask": func(t *rapid.T) {
				now = now.Add(time.Second)
				w := waiter{address: name.Draw(t, "run"), since: now, need: Need{CPUs: float64(rapid.IntRange(1, 3).Draw(t, "cpus"))}}
				l.Leave(w.address, now)
				w.since = l.since
				if !fits(w.need) || l.yields(w, fits) {
					l.waiting[w.address] = w
					return
				}
				free -= w.need.CPUs
				l.Count(w.address, 1)
			},
			"end": func(t *rapid.T) {
				if run := name.Draw(t, "run"); l.working[run] > 0 {
					l.Count(run, -1)
					free += float64(rapid.IntRange(1, 3).Draw(t, "cpus"))
				}
			},
			"offer": func(t *rapid.T) {
				for {
					w, ok := l.first(fits)
					for _, o := range l.waiting {
						behind := l.working[o.address] > l.working[w.address] || l.working[o.address] == l.working[w.address] && o.since.After(w.since)
						if fits(o.need) && (!ok || o.address != w.address && !behind) {
							t.Fatalf("%+v is served (%v), and %+v is before it; working %v", w, ok, o, l.working)
						}
					}
					if !ok {
						return
					}
					l.Leave(w.address, now)
					if l.since != w.since || l.yields(w, fits) {
						t.Fatalf("%+v is first, and yields", w)
					}
					free -= w.need.CPUs
					l.Count(w.address, 1)
				}
			},
		})
	})
}
