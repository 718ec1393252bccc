package agentlog

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"
)

func newLog(t *testing.T) (l *Log, name string) {
	t.Helper()
	name = filepath.Join(t.TempDir(), "agent.log")
	l, err := Open(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l, name
}

// TestLogOffsetsAreTrue: whatever is repeated, overlaps or was dropped in the container,
// a byte stands at the offset it was sent with, and what was never sent is zero.
func TestLogOffsetsAreTrue(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		l, name := newLog(t)
		text := bytes.Repeat([]byte("0123456789abcdef"), 32) // what the agent wrote
		var want []byte
		for range rapid.IntRange(1, 20).Draw(rt, "chunks") {
			offset := rapid.IntRange(0, len(text)-64).Draw(rt, "offset")
			chunk := text[offset : offset+rapid.IntRange(0, 64).Draw(rt, "length")]
			next, err := l.Store(int64(offset), bytes.NewReader(chunk))
			if err != nil {
				rt.Fatal(err)
			}
			end := offset + len(chunk)
			if next > int64(end) {
				rt.Fatalf("after %d bytes at %d it wants %d", len(chunk), offset, next)
			}
			if end > len(want) || offset > len(want) {
				have := len(want)
				want = append(want, make([]byte, max(end, offset)-have)...)
				copy(want[max(have, offset):], text[max(have, offset):max(end, offset)])
			}
			if l.Size() != int64(len(want)) {
				rt.Fatalf("size %d, want %d", l.Size(), len(want))
			}
		}
		got, err := os.ReadFile(name)
		if err != nil {
			rt.Fatal(err)
		}
		if got = append(got, make([]byte, len(want)-len(got))...); !bytes.Equal(got, want) {
			rt.Fatalf("log %q, want %q", got, want)
		}
	})
}

func TestALogGoesOnAfterARestart(t *testing.T) {
	l, name := newLog(t)
	if _, err := l.Store(0, strings.NewReader("one ")); err != nil {
		t.Fatal(err)
	}
	again, err := Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if next, err := again.Store(2, strings.NewReader("e two")); next != 7 || err != nil {
		t.Errorf("%d, %v", next, err)
	}
	if got, err := os.ReadFile(name); string(got) != "one two" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

// TestALongLogKeepsItsBeginningAndItsEnd: what had to go is told in a line, and the files
// stay within their bound.
func TestALongLogKeepsItsBeginningAndItsEnd(t *testing.T) {
	const head, size = 100, 50
	text := make([]byte, 1234)
	for i := range text {
		text[i] = byte('a' + i%26)
	}
	_, name := newLog(t)
	for from := 0; from < len(text); {
		l, err := Open(name) // the daemon starts again and again
		if err != nil {
			t.Fatal(err)
		}
		l.head, l.part = head, size
		for range 20 {
			to := min(from+7, len(text))
			next, err := l.Store(int64(max(0, from-3)), bytes.NewReader(text[max(0, from-3):to])) // some of it again
			if next != int64(to) || l.Size() != next || err != nil {
				t.Fatalf("next %d, size %d, %v, want %d", next, l.Size(), err, to)
			}
			from = to
		}
		if from > head+(logPartsOf+3)*size && !l.Dropped() {
			t.Errorf("after %d bytes nothing is said to be dropped", from)
		}
		l.Close()
	}
	const kept = 184 // three parts of 50 and what the last one has
	gone := len(text) - head - kept
	want := fmt.Sprintf("%s\n[assayd: %d bytes were not kept]\n%s", text[:head], gone, text[head+gone:])
	for _, tt := range []struct {
		offset int64
		want   string
	}{{0, want}, {1000, fmt.Sprintf("\n[assayd: %d bytes were not kept]\n%s", 50, text[1050:])}, {1230, string(text[1230:])}, {1234, ""}, {math.MaxInt64, ""}} {
		log, end, err := Read(name, tt.offset)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(log)
		if string(got) != tt.want || err != nil || end != max(tt.offset, int64(len(text))) {
			t.Errorf("from %d to %d: %q, %v, want %q", tt.offset, end, got, err, tt.want)
		}
		if err := log.Close(); err != nil {
			t.Error(err)
		}
	}
	l, err := Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for range 3 { // an offset that no agent can come to costs nothing
		if next, err := l.Store(math.MaxInt64, strings.NewReader("x")); next != math.MaxInt64 || err != nil {
			t.Errorf("next %d, %v", next, err)
		}
	}
	if info, err := os.Stat(l.f.Name()); err != nil || info.Size() > size {
		t.Errorf("%v, %v", info, err)
	}
}

func TestALogKeepsWhatCameBeforeAFailure(t *testing.T) {
	l, _ := newLog(t)
	why := errors.New("the guest went away")
	next, err := l.Store(0, iotest.ErrReader(why))
	if next != 0 || !errors.Is(err, why) {
		t.Errorf("%d, %v", next, err)
	}
	if next, err := l.Store(0, strings.NewReader("all")); next != 3 || err != nil {
		t.Errorf("%d, %v", next, err)
	}
}
