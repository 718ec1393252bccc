package samples

import (
	"testing"
	"time"
)

var noon = time.Date(2030, 5, 3, 12, 0, 0, 0, time.UTC)

// A ring keeps a day, whatever came before, and of each span the most.
func TestARingKeepsADay(t *testing.T) {
	r := &Ring{}
	if got := r.Last(noon, 24); got != nil {
		t.Errorf("an empty ring has %v", got)
	}
	begin := noon.Add(-2 * Kept)
	for i := range int(2 * Kept / Every) {
		at := begin.Add(time.Duration(i) * Every)
		r.Add(Sample{At: at, WorkCPUs: float64(at.Hour()), Queued: i % 120}) // of each hour the last one has 119
	}
	if len(r.all) != int(Kept/Every) {
		t.Errorf("%d samples are kept", len(r.all))
	}
	last := r.Last(noon, 24)
	if len(last) != 24 {
		t.Fatalf("%d spans", len(last))
	}
	for i, s := range last {
		if want := noon.Add(time.Duration(i-24) * time.Hour); !s.At.Equal(want) || s.WorkCPUs != float64(want.Hour()) || s.Queued != 119 {
			t.Errorf("span %d: %+v, want that of %s", i, s, want)
		}
	}
}

// Times at which no daemon ran are left out, and so are samples of a clock that was ahead.
func TestSpansWithoutASampleAreLeftOut(t *testing.T) {
	r := &Ring{}
	for _, ago := range []time.Duration{30 * time.Hour, 23 * time.Hour, time.Hour, time.Minute, -time.Hour} {
		r.Add(Sample{At: noon.Add(-ago), InFlight: 1})
	}
	if got := r.Last(noon, 48); len(got) != 3 {
		t.Errorf("spans: %+v", got)
	}
}
