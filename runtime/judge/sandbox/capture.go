package sandbox

import (
	"bytes"
	"fmt"
	"sync"
)

// Capture keeps the first and the last of an output of any length. It never fails, so
// that a program that writes too much is not held up, and may be written to from several
// goroutines.
type Capture struct {
	mu   sync.Mutex
	half int // bytes kept of either end
	head []byte
	tail []byte // a ring once it is full
	next int    // where the ring goes on
	lost int64
}

// NewCapture keeps so many bytes of either end.
func NewCapture(half int) *Capture { return &Capture{half: half} }

// OutputHalf is half of what is kept of a judge command's output.
const OutputHalf = 16 << 20

func (c *Capture) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := len(p)
	room := min(c.half-len(c.head), len(p))
	c.head = append(c.head, p[:room]...)
	p = p[room:]
	if over := len(p) - c.half; over > 0 {
		c.lost += int64(over)
		p = p[over:]
	}
	for len(p) > 0 {
		if len(c.tail) < c.half {
			k := min(c.half-len(c.tail), len(p))
			c.tail = append(c.tail, p[:k]...)
			p = p[k:]
			continue
		}
		k := copy(c.tail[c.next:], p)
		c.next = (c.next + k) % c.half
		c.lost += int64(k)
		p = p[k:]
	}
	return n, nil
}

// Bytes returns what was kept, with a line that says how much is missing in between.
func (c *Capture) Bytes() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := bytes.Clone(c.head)
	if c.lost > 0 {
		out = fmt.Appendf(out, "\n[%d bytes of output left out]\n", c.lost)
	}
	out = append(out, c.tail[c.next:]...)
	return append(out, c.tail[:c.next]...)
}

// Cut reports whether anything is missing.
func (c *Capture) Cut() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lost > 0
}
