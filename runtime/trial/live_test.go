package trial

import (
	"bytes"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"
)

func newLog(t *testing.T) (l *logFile, name string) {
	t.Helper()
	name = filepath.Join(t.TempDir(), "agent.log")
	l, err := openLog(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.close() })
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
			next, err := l.write(int64(offset), bytes.NewReader(chunk))
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
			if l.size() != int64(len(want)) {
				rt.Fatalf("size %d, want %d", l.size(), len(want))
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
	if _, err := l.write(0, strings.NewReader("one ")); err != nil {
		t.Fatal(err)
	}
	again, err := openLog(name)
	if err != nil {
		t.Fatal(err)
	}
	defer again.close()
	if next, err := again.write(2, strings.NewReader("e two")); next != 7 || err != nil {
		t.Errorf("%d, %v", next, err)
	}
	if got, err := os.ReadFile(name); string(got) != "one two" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

func TestALogIsBounded(t *testing.T) {
	l, name := newLog(t)
	for _, tt := range []struct {
		offset, next int64
	}{{maxLog - 3, maxLog + 7}, {maxLog + 7, maxLog + 17}, {math.MaxInt64, math.MaxInt64}} {
		if next, err := l.write(tt.offset, strings.NewReader("0123456789")); next != tt.next || err != nil {
			t.Errorf("at %d: next %d, %v, want %d", tt.offset, next, err, tt.next)
		}
	}
	if info, err := os.Stat(name); err != nil || info.Size() != maxLog {
		t.Errorf("%v, %v", info, err)
	}
}

func TestALogKeepsWhatCameBeforeAFailure(t *testing.T) {
	l, _ := newLog(t)
	why := errors.New("the guest went away")
	next, err := l.write(0, iotest.ErrReader(why))
	if next != 0 || !errors.Is(err, why) {
		t.Errorf("%d, %v", next, err)
	}
	if next, err := l.write(0, strings.NewReader("all")); next != 3 || err != nil {
		t.Errorf("%d, %v", next, err)
	}
}
