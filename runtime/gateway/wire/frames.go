package wire

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// maxFrame bounds one event of a stream, in bytes. The last one of a response repeats all of
// it. What is kept between events is at most keptFrame.
const (
	maxFrame  = 32 << 20
	keptFrame = 1 << 20
)

// Frames reads server-sent events one by one, and keeps them as they are. The format is that
// of WHATWG's HTML, section 9.2, but for lines that end in CR alone, which no provider sends.
type Frames struct {
	in  *bufio.Reader
	raw []byte // of the event that is being read
}

// NewFrames reads the events of a response's body.
func NewFrames(r io.Reader) *Frames { return &Frames{in: bufio.NewReaderSize(r, 8<<10)} }

// Next returns the next event: all its bytes, with the empty line that ends it; Data has
// what it says. The error is io.EOF at the end, also where an event lacks its end; Rest has
// that then. What is returned is good until the next call.
func (f *Frames) Next() (raw []byte, err error) {
	if f.raw = f.raw[:0]; cap(f.raw) > keptFrame {
		f.raw = nil
	}
	begun := false // the line that is read next has begun already
	for {
		line, err := f.in.ReadSlice('\n')
		f.raw = append(f.raw, line...)
		if len(f.raw) > maxFrame {
			return nil, fmt.Errorf("an event has more than %d bytes", maxFrame)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			begun = true
			continue
		}
		if err != nil {
			return nil, err
		}
		if !begun && len(bytes.TrimRight(line, "\r\n")) == 0 {
			return f.raw, nil
		}
		begun = false
	}
}

// Rest is what was read of an event that did not end.
func (f *Frames) Rest() []byte { return bytes.TrimSpace(f.raw) }

// More reports whether another whole event has come in already.
func (f *Frames) More() bool {
	there, _ := f.in.Peek(f.in.Buffered()) // which is not more than there is
	return bytes.Contains(there, []byte("\n\n")) || bytes.Contains(there, []byte("\n\r\n"))
}

// Data joins the data lines of an event; it is nil where there is none, as in a comment
// that only keeps the connection open. It may be a part of raw.
func Data(raw []byte) []byte {
	var data []byte
	lines := 0
	for line := range bytes.Lines(raw) {
		name, value, _ := bytes.Cut(bytes.TrimRight(line, "\r\n"), []byte(":"))
		if string(name) != "data" {
			continue
		}
		value = bytes.TrimPrefix(value, []byte(" "))
		if lines++; lines == 1 {
			data = value[:len(value):len(value)]
			continue
		}
		data = append(append(data, '\n'), value...)
	}
	if lines == 0 {
		return nil
	}
	return data
}
