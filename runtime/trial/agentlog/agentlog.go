package agentlog

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/assayd/assayd/runtime/fault"
)

// The log of a try takes at most a gibibyte: the first half of that is the beginning, which
// tells how the agent was started, and the other half what it printed last.
const (
	logHead    = 512 << 20 // bytes of the beginning
	logPart    = 128 << 20 // bytes of one part of what follows
	logPartsOf = 4         // how many of those are kept, the newest
)

// Log is the record of the agent's output, bounded; the container's copy is a buffer. It is safe for
// concurrent use.
type Log struct {
	path       string
	head, part int64 // bytes; constants but for tests

	mu   sync.Mutex
	f    *os.File // the beginning, or the newest part
	base int64    // the offset of its first byte
	next int64    // the offset after the last byte
	lost bool     // a part gave way to a later one
}

// part is a file of a log beyond its beginning, named after the offset of its first byte.
type part struct {
	name string
	base int64
}

func partName(path string, base int64) string { return fmt.Sprintf("%s.%020d", path, base) }

// parts lists what is kept of a log beyond its beginning, in order.
func parts(path string) ([]part, error) {
	entries, err := os.ReadDir(filepath.Dir(path)) // sorted by name, so by offset
	if err != nil {
		return nil, err
	}
	var list []part
	for _, e := range entries {
		digits, ok := strings.CutPrefix(e.Name(), filepath.Base(path)+".")
		base, err := strconv.ParseInt(digits, 10, 64)
		if !ok || err != nil {
			continue // not ours
		}
		list = append(list, part{partName(path, base), base})
	}
	return list, nil
}

// Open goes on with the log whose beginning is at path, or begins one there. Its folder must be there.
func Open(path string) (*Log, error) {
	l := &Log{path: path, head: logHead, part: logPart}
	kept, err := parts(path)
	if err != nil {
		return nil, err
	}
	name := path
	if len(kept) > 0 {
		last := kept[len(kept)-1]
		name, l.base = last.name, last.base
	}
	if l.f, err = os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644); err != nil {
		return nil, err
	}
	end, err := l.f.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, errors.Join(err, l.f.Close())
	}
	l.next = l.base + end
	return l, nil
}

// Store keeps what begins at offset and returns the offset it wants next, at most the end
// of what it read. Output that was dropped in the container leaves a hole of zero bytes, so
// that offsets stay true.
func (l *Log) Store(offset int64, r io.Reader) (int64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := fault.Err(fault.WriteLog); err != nil {
		return offset, fmt.Errorf("write agent log: %w", err)
	}
	if offset < l.next {
		n, err := io.CopyN(io.Discard, r, l.next-offset)
		if errors.Is(err, io.EOF) {
			return offset + n, nil // nothing new in it
		}
		if err != nil {
			return offset, err
		}
		offset = l.next
	}
	for {
		n, err := l.fill(offset, r)
		offset += n
		l.next = offset
		fault.Reached(fault.LogAppended)
		if err != nil {
			return offset, fmt.Errorf("write agent log: %w", err)
		}
		if n == 0 {
			return offset, nil
		}
	}
}

// fill writes to the file that offset belongs to until that is full or r has ended.
func (l *Log) fill(offset int64, r io.Reader) (int64, error) {
	if offset > math.MaxInt64-l.part {
		_, err := io.Copy(io.Discard, r) // no agent has printed that much
		return 0, err
	}
	room := l.head - offset
	if room <= 0 {
		room = l.base + l.part - offset
		if l.base < l.head || room <= 0 { // a part is made when there is a byte for it
			first := make([]byte, 1)
			if n, err := io.ReadFull(r, first); n == 0 {
				return 0, ignoreEOF(err)
			}
			if err := l.rotate(offset); err != nil {
				return 0, err
			}
			r, room = io.MultiReader(strings.NewReader(string(first)), r), l.part
		}
	}
	return io.Copy(io.NewOffsetWriter(l.f, offset-l.base), io.LimitReader(r, room))
}

func ignoreEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// rotate begins a part at offset and removes the oldest ones.
func (l *Log) rotate(offset int64) error {
	kept, err := parts(l.path)
	if err != nil {
		return err
	}
	for len(kept) >= logPartsOf {
		if err := os.Remove(kept[0].name); err != nil {
			return err
		}
		kept = kept[1:]
		l.lost = true
	}
	f, err := os.OpenFile(partName(l.path, offset), os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	_ = l.f.Close() // nothing is buffered, so there is nothing to learn
	l.f, l.base = f, offset
	return nil
}

// Size is the offset after the last byte.
func (l *Log) Size() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.next
}

// Dropped reports whether a part of the log had to give way to a later one.
func (l *Log) Dropped() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lost
}

// Close closes the file. What is stored stays.
func (l *Log) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	_ = l.f.Close()
}

// Read reads what the log at path holds from offset on, at this moment; end is the
// offset after it, from which to go on later. A line tells of what was printed and is not
// kept. Without a log it is an error that is os.ErrNotExist.
func Read(path string, offset int64) (log io.ReadCloser, end int64, err error) {
	r := &logReader{}
	end = offset
	if err := r.add(path, 0, &end); err != nil {
		return nil, offset, err
	}
	kept, err := parts(path)
	if err != nil {
		return nil, offset, errors.Join(err, r.Close())
	}
	for _, p := range kept {
		if err := r.add(p.name, p.base, &end); err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, offset, errors.Join(err, r.Close())
		}
	}
	r.Reader = io.MultiReader(r.pieces...)
	return r, end, nil
}

// logReader reads files one after the other.
type logReader struct {
	io.Reader
	pieces []io.Reader
	files  []*os.File
}

// add appends what the file whose first byte is at base has from *end on.
func (r *logReader) add(name string, base int64, end *int64) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	r.files = append(r.files, f)
	info, err := f.Stat()
	if err != nil {
		return errors.Join(err, r.Close())
	}
	if base+info.Size() <= *end {
		return nil
	}
	if base > *end {
		r.pieces = append(r.pieces, strings.NewReader(fmt.Sprintf("\n[assayd: %d bytes were not kept]\n", base-*end)))
		*end = base
	}
	r.pieces = append(r.pieces, io.NewSectionReader(f, *end-base, base+info.Size()-*end))
	*end = base + info.Size()
	return nil
}

// Close closes the files.
func (r *logReader) Close() error {
	var err error
	for _, f := range r.files {
		err = errors.Join(err, f.Close())
	}
	r.files = nil
	return err
}
