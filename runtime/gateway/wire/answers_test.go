package wire

import (
	"runtime"
	"strings"
	"testing"
)

// taken is how many bytes f allocates, whoever frees them.
func taken(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// An event of a stream is bounded, and what it took is given back once it has passed.
func TestEventsAreBounded(t *testing.T) {
	line := "data: " + strings.Repeat("x", 4<<20) + "\n\n"
	f := NewFrames(strings.NewReader(line + "data: y\n\n"))
	if raw, err := f.Next(); err != nil || len(raw) != len(line) {
		t.Fatalf("%d bytes, %v", len(raw), err)
	}
	if raw, err := f.Next(); err != nil || string(raw) != "data: y\n\n" || cap(f.raw) > keptFrame {
		t.Errorf("%q, %v; %d bytes are kept", raw, err, cap(f.raw))
	}
	f = NewFrames(strings.NewReader("data: " + strings.Repeat("x", maxFrame) + "\n\n"))
	if _, err := f.Next(); err == nil || !strings.Contains(err.Error(), "more than") {
		t.Errorf("%v", err)
	}
}

// An event that is made of countless values is passed on, and not taken apart.
func TestAnswersOfCountlessValuesAreNotRead(t *testing.T) {
	body := []byte(`{"choices":[{}` + strings.Repeat(",{}", 2_000_000) + `]}`)
	var m Meter
	if took := taken(func() { wholeCompletion(body, &m); completionChunk(body, &m) }); took > 1<<20 {
		t.Errorf("%d bytes were allocated", took)
	}
}
