package workqueue

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// noon is the present of these tests.
var noon = time.Date(2030, 5, 1, 12, 0, 0, 0, time.UTC)

// TestQueue holds the queue against a map: one entry a key, and the earliest time wins.
func TestQueue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q, model, now := New(), map[string]time.Time{}, noon
		key := rapid.SampledFrom([]string{"a", "b", "c"})
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				k := key.Draw(t, "key")
				at := now.Add(time.Duration(rapid.IntRange(-5, 5).Draw(t, "in")) * time.Second)
				q.Add(k, at)
				if old, ok := model[k]; !ok || at.Before(old) {
					model[k] = at
				}
			},
			"wait": func(t *rapid.T) { now = now.Add(time.Second) },
			"pop": func(t *rapid.T) {
				got, ok := q.Pop(now)
				if !ok {
					for k, at := range model {
						if !at.After(now) {
							t.Fatalf("%s is due since %s and was not handed out", k, at)
						}
					}
					return
				}
				at, asked := model[got]
				if !asked || at.After(now) {
					t.Fatalf("%s was handed out; it is due at %s (asked for: %v)", got, at, asked)
				}
				for k, other := range model {
					if other.Before(at) {
						t.Fatalf("%s was handed out before %s", got, k)
					}
				}
				delete(model, got)
			},
			"": func(t *rapid.T) {
				var first time.Time
				for _, at := range model {
					if first.IsZero() || at.Before(first) {
						first = at
					}
				}
				_, wait, ok := q.Peek(now)
				if ok != (len(model) > 0) || ok && wait != max(first.Sub(now), 0) {
					t.Fatalf("peek waits %s (%v), the first of %v is at %s", wait, ok, model, first)
				}
			},
		})
	})
}

func TestRetriesGrowUntilForgotten(t *testing.T) {
	q := New()
	pause := func() time.Duration {
		q.Retry("a", noon)
		_, wait, _ := q.Peek(noon)
		q.Pop(noon.Add(wait))
		return wait
	}
	for n, want := range []time.Duration{1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300} {
		want *= time.Second
		if got := pause(); got < want || got > want+want/4 {
			t.Errorf("pause %d is %s, want %s and up to a quarter more", n+1, got, want)
		}
	}
	q.Forget("a")
	if got := pause(); got > 1250*time.Millisecond {
		t.Errorf("after a success the first pause is %s", got)
	}
}
