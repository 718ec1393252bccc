//go:build linux

package guest

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"
)

// The model of an output is every byte that was ever printed: what is kept may have gaps,
// but no byte at an offset is ever another one.
func TestOutputKeepsTheNewestAtOffsetsThatNeverChange(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp("", "out")
		if err != nil {
			rt.Fatal(err)
		}
		defer func() { _ = os.RemoveAll(dir) }()
		limit := rapid.Int64Range(16, 400).Draw(rt, "limit")
		open := func() *output {
			o, err := openOutput(dir, limit)
			if err != nil {
				rt.Fatal(err)
			}
			return o
		}
		o := open()
		defer func() { o.close() }()
		var model []byte // zero where nothing was printed
		next := byte(1)
		rt.Repeat(map[string]func(*rapid.T){
			"print": func(rt *rapid.T) {
				p := bytes.Repeat([]byte{next}, rapid.IntRange(1, 150).Draw(rt, "n"))
				next = max(next+1, 1)
				_, _ = o.Write(p)
				model = append(model, p...)
			},
			"restart": func(*rapid.T) {
				o.close()
				o = open()
			},
			"the daemon has more than a crash left": func(rt *rapid.T) {
				n := rapid.IntRange(1, 50).Draw(rt, "n")
				o.skipTo(int64(len(model) + n))
				model = append(model, make([]byte, n)...)
				_, _ = o.Write([]byte{255}) // an offset without bytes is not remembered over a restart
				model = append(model, 255)
			},
			"": func(rt *rapid.T) { checkOutput(rt, o, model, limit, dir) },
		})
	})
}

func checkOutput(rt *rapid.T, o *output, model []byte, limit int64, dir string) {
	if o.end != int64(len(model)) {
		rt.Fatalf("end %d, want %d", o.end, len(model))
	}
	buf := make([]byte, 64)
	last := int64(0)
	for offset := int64(0); ; {
		at, n := o.read(offset, buf)
		if at < offset {
			rt.Fatalf("asked for %d, got %d", offset, at)
		}
		if n == 0 {
			break
		}
		if want := model[at : at+int64(n)]; !bytes.Equal(buf[:n], want) {
			rt.Fatalf("at %d: %v, want %v", at, buf[:n], want)
		}
		offset, last = at+int64(n), at+int64(n)
	}
	if len(model) > 0 && last != int64(len(model)) {
		rt.Fatalf("the newest byte is gone: read to %d of %d", last, len(model))
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*"))
	var total int64
	for _, f := range files {
		if info, err := os.Stat(f); err == nil {
			total += info.Size()
		}
	}
	if total > limit {
		rt.Fatalf("%d bytes on disk, limit %d", total, limit)
	}
}

func TestOutputGoesOnWhenItsFilesAreTakenAway(t *testing.T) {
	dir := t.TempDir()
	o, err := openOutput(dir, 800)
	if err != nil {
		t.Fatal(err)
	}
	defer o.close()
	_, _ = o.Write(bytes.Repeat([]byte("a"), 250))
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	_, _ = o.Write(bytes.Repeat([]byte("b"), 300)) // nowhere to put most of it
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	_, _ = o.Write([]byte("c"))
	buf := make([]byte, 10)
	if at, n := o.read(0, buf); at != 550 || string(buf[:n]) != "c" {
		t.Errorf("at %d: %q", at, buf[:n])
	}
}

func TestOutputIsRootsAloneAndFollowsNoLink(t *testing.T) {
	dir, other := t.TempDir(), filepath.Join(t.TempDir(), "other")
	write(t, other, "precious")
	if err := os.Symlink(other, filepath.Join(dir, "output.00000000000000000000")); err != nil {
		t.Fatal(err)
	}
	o, err := openOutput(dir, 100)
	if err != nil {
		t.Fatal(err)
	}
	defer o.close()
	_, _ = o.Write([]byte("text"))
	if got := read(t, other); got != "precious" {
		t.Errorf("written through a link: %q", got)
	}
	info, err := os.Lstat(o.path(0))
	if err != nil || info.Mode() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

func TestWaitingForOutputEnds(t *testing.T) {
	o, err := openOutput(t.TempDir(), 100)
	if err != nil {
		t.Fatal(err)
	}
	defer o.close()
	ctx, cancel := context.WithCancel(t.Context())
	seen := make(chan error)
	go func() { seen <- o.beyond(ctx, 0) }()
	_, _ = o.Write([]byte("x"))
	if err := <-seen; err != nil {
		t.Error(err)
	}
	go func() { seen <- o.flushed(ctx) }()
	o.acknowledge(1)
	if err := <-seen; err != nil {
		t.Error(err)
	}
	go func() { seen <- o.beyond(ctx, 1) }()
	cancel()
	if err := <-seen; err == nil {
		t.Error("nothing came, and no error")
	}
}
