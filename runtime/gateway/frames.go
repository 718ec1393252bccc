package gateway

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// maxFrame bounds one event of a stream, in bytes. The last one of a response repeats all of
// it.
const maxFrame = 64 << 20

// frames reads server-sent events one by one, and keeps them as they are. The format is that
// of WHATWG's HTML, section 9.2.
type frames struct {
	in  *bufio.Reader
	raw []byte // of the event that is being read
}

func newFrames(r io.Reader) *frames { return &frames{in: bufio.NewReaderSize(r, 64<<10)} }

// next returns the next event: all its bytes, with the empty line that ends it, and its data.
// The error is io.EOF at the end, also where an event lacks its end; rest has that then. What
// is returned is good until the next call.
func (f *frames) next() (raw, data []byte, err error) {
	f.raw = f.raw[:0]
	begun := false
	for {
		line, err := f.in.ReadSlice('\n')
		f.raw = append(f.raw, line...)
		if len(f.raw) > maxFrame {
			return nil, nil, fmt.Errorf("an event has more than %d bytes", maxFrame)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			begun = true
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		if !begun && len(bytes.TrimRight(line, "\r\n")) == 0 {
			return f.raw, dataOf(f.raw), nil
		}
		begun = false
	}
}

// rest is what was read of an event that did not end.
func (f *frames) rest() []byte { return bytes.TrimSpace(f.raw) }

// idle reports whether nothing more has come in yet.
func (f *frames) idle() bool { return f.in.Buffered() == 0 }

// dataOf joins the data lines of an event.
func dataOf(raw []byte) []byte {
	var data []byte
	found := false
	for line := range bytes.Lines(raw) {
		value, ok := bytes.CutPrefix(bytes.TrimRight(line, "\r\n"), []byte("data:"))
		if !ok {
			continue
		}
		if found {
			data = append(data, '\n')
		}
		data, found = append(data, bytes.TrimPrefix(value, []byte(" "))...), true
	}
	return data
}
