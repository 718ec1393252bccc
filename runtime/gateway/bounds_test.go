package gateway

import (
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
)

// allocated is how many bytes f allocates, whoever frees them.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// However a request is made, what it takes is in proportion to its bytes.
func TestHostileRequestsTakeNoMoreThanTheyAreLong(t *testing.T) {
	const size = 4 << 20
	fill := func(begin, piece, end string) string {
		return begin + strings.Repeat(piece, (size-len(begin)-len(end))/len(piece)) + end
	}
	for name, tc := range map[string]struct {
		body   string
		status int
	}{
		"one long text":           {fill(`{"model":"m","messages":[{"role":"user","content":"`, "word ", `"}]}`), 200},
		"messages without number": {fill(`{"model":"m","messages":[0`, ",0", `]}`), 413},
		"parts without number":    {fill(`{"model":"m","messages":[{"role":"user","content":[{}`, ",{}", `]}]}`), 413},
		"fields without number":   {fill(`{"model":"m"`, `,"":0`, `}`), 413},
		"fields twice":            {`{"model":"m"` + strings.Repeat(`,"a":0`, 1000) + `}`, 400},
		"too many fields":         {`{"model":"m"` + strings.Repeat(`,"0":0`, 2000) + `}`, 400},
		"tools without number":    {fill(`{"model":"m","tools":[0`, ",[]", `]}`), 413},
		"far too deep":            {fill(`{"model":"m","messages":`, "[", `]}`), 413},
		"too deep":                {`{"model":"m","messages":` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + `}`, 400},
		"deep":                    {`{"model":"m","messages":` + strings.Repeat("[", 9000) + strings.Repeat("]", 9000) + `}`, 200},
		"deep in contents": {
			`{"model":"m","messages":[` + strings.Repeat(`{"content":[`, 4000) + strings.Repeat(`]}`, 4000) + `]}`, 200,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := held(t, Provider{}, func(*http.Request) (*http.Response, error) {
				return answers(200, fine, "Content-Type: application/json")
			})
			var status int
			took := allocated(func() {
				w, _ := s.ask(t.Context(), tc.body)
				status = w.Code
			})
			if status != tc.status {
				t.Errorf("it is answered %d, want %d", status, tc.status)
			}
			if most := uint64(20*len(tc.body) + 4<<20); took > most {
				t.Errorf("%d bytes were allocated for %d, at most %d expected", took, len(tc.body), most)
			}
			if !s.room.TryAcquire(maxBodies) {
				t.Error("it has left something in the room")
			}
			s.room.Release(maxBodies)
		})
	}
}

// What is sent within a request counts against the room of all, also where it is small.
func TestSmallRequestsTakeRoom(t *testing.T) {
	const each = maxBodies / leastRoom
	var under atomic.Int64
	release, full := make(chan struct{}), make(chan struct{})
	s := held(t, Provider{}, func(*http.Request) (*http.Response, error) {
		if under.Add(1) == each {
			close(full)
		}
		<-release
		return answers(200, fine, "Content-Type: application/json")
	})
	done := make(chan int, each)
	for range each {
		go func() {
			w, _ := s.ask(t.Context(), plain)
			done <- w.Code
		}()
	}
	<-full
	if s.room.TryAcquire(1) {
		t.Error("there is room for more")
	}
	close(release)
	for range each {
		if code := <-done; code != 200 {
			t.Errorf("answered %d", code)
		}
	}
}
