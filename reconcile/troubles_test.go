package reconcile

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/assayd/assayd/runtime/container"
)

// journal is a log that can be read while it is written.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(p)
}

func (j *journal) count(words string) int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return strings.Count(j.text.String(), words)
}

func TestWhatKeepsAllFromTheEngineIsLoggedOnceUntilItChanges(t *testing.T) {
	h := newFixture(t)
	close(h.let)
	log := &journal{}
	h.more = func(o *Options) { o.Log = slog.New(slog.NewTextHandler(log, nil)) }
	var mu sync.Mutex
	var cause string
	var asked map[string]int // calls that failed
	because := func(text string) {
		mu.Lock()
		defer mu.Unlock()
		cause, asked = text, map[string]int{}
	}
	h.fake.Intercept(func(call, target string) error {
		mu.Lock()
		defer mu.Unlock()
		if cause == "" {
			return nil
		}
		asked[call]++
		return fmt.Errorf("%s %s: %w: %s", call, target, container.ErrUnavailable, cause)
	})
	untilAsked := func(times int) {
		t.Helper()
		for deadline := time.Now().Add(patience); ; <-time.After(2 * time.Millisecond) {
			mu.Lock()
			enough := asked["Observe"] >= times && asked["Image"] >= 2*times
			mu.Unlock()
			if enough {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("the engine is asked for %v", asked)
			}
		}
	}
	because("permission denied")
	h.write("a.hcl", spec("x", "y"))
	d, _ := h.begin()
	untilAsked(3)
	if n := log.count("permission denied"); n != 1 {
		t.Errorf("of one cause %d lines are logged:\n%s", n, log.text.String())
	}
	because("connection refused")
	untilAsked(1)
	if n := log.count("connection refused"); n != 1 {
		t.Errorf("of another cause %d lines are logged:\n%s", n, log.text.String())
	}
	because("")
	d.untilState(t, "finished")
}
