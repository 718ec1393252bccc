package guest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/assayd/assayd/runtime/guest/safefile"
)

// defaultLogBytes is kept when the configuration names no bound.
const defaultLogBytes = 16 << 20

// output keeps the newest bytes of what the agent prints, in segment files that are named
// after the offset of their first byte. Offsets are absolute, counted from the trial's
// first byte, and never used twice; what is dropped for space or lost on a full disk is a
// gap. It is safe for concurrent use.
type output struct {
	dir     string
	limit   int64 // of all segments together
	segment int64 // of one

	mu       sync.Mutex
	segments []segment // by offset; the last one is written to while file is set
	file     *os.File
	end      int64         // offset of the next byte
	sent     int64         // what the daemon has
	moved    chan struct{} // closed and made anew when end or sent moves
}

type segment struct{ base, size int64 }

const segmentPrefix = "output."

// openOutput continues the output kept in dir, where there is one.
func openOutput(dir string, limit int64) (*output, error) {
	if limit <= 0 {
		limit = defaultLogBytes
	}
	o := &output{dir: dir, limit: limit, segment: max(limit/8, 1), moved: make(chan struct{})}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("open the agent's output: %w", err)
	}
	for _, e := range entries { // sorted by name, so by offset
		digits, ok := strings.CutPrefix(e.Name(), segmentPrefix)
		base, err := strconv.ParseInt(digits, 10, 64)
		info, errInfo := e.Info()
		if !ok || err != nil || errInfo != nil || base < o.end || !info.Mode().IsRegular() || info.Size() == 0 {
			continue
		}
		o.segments = append(o.segments, segment{base, info.Size()})
		o.end = base + info.Size()
	}
	return o, nil
}

func (o *output) path(base int64) string {
	return filepath.Join(o.dir, fmt.Sprintf("%s%020d", segmentPrefix, base))
}

// Write keeps p. It never fails: the agent must not be stopped by a full disk.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for rest := p; len(rest) > 0; {
		if err := o.room(); err != nil {
			o.end += int64(len(rest))
			break
		}
		last := &o.segments[len(o.segments)-1]
		part := rest[:min(int64(len(rest)), o.segment-last.size)]
		n, err := o.file.Write(part)
		last.size += int64(n)
		o.end += int64(len(part))
		if err != nil {
			o.seal()
		}
		rest = rest[len(part):]
	}
	o.broadcast()
	return len(p), nil
}

// room makes sure that the last segment can take a byte at the end.
func (o *output) room() error {
	if o.file != nil && o.segments[len(o.segments)-1].size < o.segment {
		return nil
	}
	o.seal()
	var total int64
	for _, s := range o.segments {
		total += s.size
	}
	for len(o.segments) > 0 && total+o.segment > o.limit {
		if err := os.Remove(o.path(o.segments[0].base)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		total -= o.segments[0].size
		o.segments = o.segments[1:]
	}
	f, err := safefile.Create(o.path(o.end))
	if err != nil {
		return err
	}
	o.file = f
	o.segments = append(o.segments, segment{base: o.end})
	return nil
}

// seal ends the last segment: the next byte begins another one.
func (o *output) seal() {
	if o.file == nil {
		return
	}
	_ = o.file.Close() // nothing is buffered, so there is nothing to learn
	o.file = nil
	last := o.segments[len(o.segments)-1]
	if last.size == 0 {
		_ = os.Remove(o.path(last.base)) // an empty file is ignored anyway
		o.segments = o.segments[:len(o.segments)-1]
	}
}

// skipTo makes sure that no offset below next is given to new bytes: the daemon has them
// from before a crash that lost the end of a segment.
func (o *output) skipTo(next int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if next > o.end {
		o.seal()
		o.end = next
	}
	o.broadcast()
}

// read fills buf with bytes from offset or, if those are gone, from the first offset above
// it that is still there. n = 0 means that nothing is kept from offset on; at is then the
// end.
func (o *output) read(offset int64, buf []byte) (at int64, n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for i := 0; i < len(o.segments); i++ {
		s := o.segments[i]
		if offset >= s.base+s.size {
			continue
		}
		at = max(offset, s.base)
		n, err := readSegment(o.path(s.base), at-s.base, buf[:min(int64(len(buf)), s.base+s.size-at)])
		if err == nil && n > 0 {
			return at, n
		}
		if o.file != nil && i == len(o.segments)-1 {
			o.seal()
		}
		o.segments = slices.Delete(o.segments, i, i+1) // somebody took it away: a gap
		i--
	}
	return max(offset, o.end), 0
}

func readSegment(path string, from int64, buf []byte) (n int, err error) {
	f, err := safefile.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close() //nolint:errcheck // only read
	n, err = f.ReadAt(buf, from)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return n, err
}

// acknowledge notes that the daemon has everything below next.
func (o *output) acknowledge(next int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.sent = next
	o.broadcast()
}

// beyond waits until there is output at or after offset.
func (o *output) beyond(ctx context.Context, offset int64) error {
	return o.until(ctx, func() bool { return o.end > offset })
}

// flushed waits until the daemon has all there is.
func (o *output) flushed(ctx context.Context) error {
	return o.until(ctx, func() bool { return o.sent >= o.end })
}

func (o *output) until(ctx context.Context, reached func() bool) error {
	for {
		o.mu.Lock()
		done, moved := reached(), o.moved
		o.mu.Unlock()
		if done {
			return nil
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// broadcast wakes all that wait; mu is held.
func (o *output) broadcast() {
	close(o.moved)
	o.moved = make(chan struct{})
}

// close ends the last segment.
func (o *output) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.seal()
}
