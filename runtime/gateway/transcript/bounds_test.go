package transcript

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
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

// What finds no room waits in memory up to a bound, and is written as soon as there is some.
func TestLinesWaitForRoom(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close() //nolint:errcheck // nothing is in it
	path := filepath.Join(t.TempDir(), "t.jsonl")
	w, err := Create(path, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	sound := w.file
	exchange := func(text string) error {
		n, begun := w.Begin(time.Now(), Completions, "m", false, map[string]json.RawMessage{"messages": json.RawMessage(`["` + text + `"]`)})
		if ended := w.End(time.Now(), n, Response{}); begun == nil && ended != nil {
			t.Errorf("%.20s: %v, then %v", text, begun, ended)
		}
		return begun
	}
	if err := exchange("before"); err != nil {
		t.Fatal(err)
	}
	w.file = full
	for _, text := range []string{"waits", "too"} {
		if err := exchange(text); !errors.Is(err, ErrHeld) || !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("%s: %v", text, err)
		}
	}
	if err := exchange(strings.Repeat("x", maxWaiting)); err == nil || errors.Is(err, ErrHeld) {
		t.Errorf("a line beyond the bound: %v", err)
	}
	if err := w.Flush(); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("on a full disk what waits is written: %v", err)
	}
	w.file = sound
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var said []string
	for line := range strings.Lines(string(text)) {
		var l Line
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatal(err)
		}
		if l.Request != nil {
			said = append(said, string(l.Request.New[0]))
		}
	}
	if want := `["before"]["waits"]["too"]`; fmt.Sprintf("[%s]", strings.Join(said, "][")) != want {
		t.Errorf("written are %q, want %s", said, want)
	}
}
