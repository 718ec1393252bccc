package judge

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
)

// capture keeps the first and the last of an output of any length. It never fails, so
// that a program that writes too much is not held up, and may be written to from several
// goroutines.
type capture struct {
	mu   sync.Mutex
	half int // bytes kept of either end
	head []byte
	tail []byte // a ring once it is full
	next int    // where the ring goes on
	lost int64
}

// outputHalf is half of what is kept of a judge command's output.
const outputHalf = 16 << 20

func (c *capture) Write(p []byte) (int, error) {
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

// bytes returns what was kept, with a line that says how much is missing in between.
func (c *capture) bytes() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := bytes.Clone(c.head)
	if c.lost > 0 {
		out = fmt.Appendf(out, "\n[%d bytes of output left out]\n", c.lost)
	}
	out = append(out, c.tail[c.next:]...)
	return append(out, c.tail[:c.next]...)
}

// cut reports whether anything is missing.
func (c *capture) cut() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lost > 0
}

// lastLine returns the last line that is not blank, bounded.
func lastLine(output []byte) string {
	tail := output[max(0, len(output)-4096):]
	lines := strings.Split(strings.TrimSpace(string(tail)), "\n")
	return clip(lines[len(lines)-1], 300)
}
