package transcript

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// What is remembered of a conversation is bounded, whatever is sent.
func TestWhatIsRememberedIsBounded(t *testing.T) {
	w, err := Create(filepath.Join(t.TempDir(), "t.jsonl"), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for n := range 3 {
		var messages strings.Builder
		for i := range maxNames / 2 {
			fmt.Fprintf(&messages, ",%d", n*maxNames+i)
		}
		fields := map[string]json.RawMessage{"messages": json.RawMessage("[0" + messages.String() + "]")}
		if _, err := w.Begin(time.Now(), Completions, "m", false, fields); err != nil && !errors.Is(err, ErrFull) {
			t.Fatal(err)
		}
	}
	if len(w.names) > maxNames || len(w.known) > maxKnown+4 {
		t.Errorf("%d messages and %d names are remembered", len(w.names), len(w.known))
	}
	for n := range maxKnown {
		w.known[strconv.Itoa(n)] = true
	}
	if _, err := w.Begin(time.Now(), Completions, "m", false, nil); err != nil || len(w.known) > maxKnown+4 {
		t.Errorf("%d names are remembered, %v", len(w.known), err)
	}
}
