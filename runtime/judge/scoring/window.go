package scoring

import (
	"bytes"
	"fmt"

	"github.com/assayd/assayd/runtime/task"
)

// WithinWindow is the part of an output that counts. Where nobody can tell which it is, problem says
// why: what is submitted may have run before the tests, and have printed the mark, too.
func WithinWindow(w *task.Window, output []byte) (part []byte, problem string) {
	if w == nil {
		return output, ""
	}
	mark := []byte(w.Mark)
	first := bytes.Index(output, mark)
	if first < 0 {
		return nil, fmt.Sprintf("the tests were not reached: the output has no line with %q", w.Mark)
	}
	last := bytes.LastIndex(output, mark)
	if bytes.Count(output[first:last], []byte("\n")) > 1 {
		return nil, fmt.Sprintf("more than one part of the output begins with %q", w.Mark)
	}
	_, part, _ = bytes.Cut(output[last:], []byte("\n"))
	return part, ""
}
