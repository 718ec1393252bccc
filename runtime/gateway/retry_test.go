package gateway

import (
	"testing"
	"time"
)

func FuzzRetryAfter(f *testing.F) {
	for _, seed := range []string{"5", "-1", "99999999999999999999", " 7 ", "Wed, 21 Oct 2015 07:28:00 GMT", "1e3", "9223372036854775807"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if pause, _ := retryAfter(text, now); pause < 0 || pause > 24*60*60*1e9 {
			t.Fatal(pause)
		}
	})
}

var now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func TestRetryAfter(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"0": 0, "7": 7 * time.Second, " 7 ": 7 * time.Second, "999999999999999": 24 * time.Hour,
		"Sat, 21 Nov 2026 12:00:30 GMT": 30 * time.Second, "Sat, 21 Nov 2026 11:00:00 GMT": 0,
	} {
		if got, ok := retryAfter(text, now); !ok || got != want {
			t.Errorf("%q: %v %v, want %v", text, got, ok, want)
		}
	}
	for _, text := range []string{"", "-1", "soon", "1.5", "99999999999999999999"} {
		if got, ok := retryAfter(text, now); ok {
			t.Errorf("%q: %v", text, got)
		}
	}
	if got, _ := retryAfter("Sat, 21 Nov 2026 12:00:30 GMT", now.Add(-time.Millisecond)); got != 31*time.Second {
		t.Errorf("a part of a second: %v", got)
	}
}
