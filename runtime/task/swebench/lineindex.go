package swebench

import (
	"bytes"
	"io"
	"slices"
)

// maxLineEnds bounds the line ends that are remembered between two rows.
const maxLineEnds = 1 << 20

// lineIndex is a reader that knows in which line an offset is.
type lineIndex struct {
	r      io.Reader
	at     int64   // bytes that were read
	ends   []int64 // offsets of line ends behind the last one that was asked for
	passed int     // line ends before those
	lost   bool    // there were too many
}

// Read implements io.Reader.
func (l *lineIndex) Read(p []byte) (int, error) {
	n, err := l.r.Read(p)
	for from := 0; ; {
		end := bytes.IndexByte(p[from:n], '\n')
		if end < 0 {
			break
		}
		if l.lost = l.lost || len(l.ends) == maxLineEnds; !l.lost {
			l.ends = append(l.ends, l.at+int64(from+end))
		}
		from += end + 1
	}
	l.at += int64(n)
	return n, err
}

// line is the line of an offset that was read, counted from 1; 0 = not known. Offsets only rise.
func (l *lineIndex) line(offset int64) int {
	if l.lost {
		return 0
	}
	before, _ := slices.BinarySearch(l.ends, offset)
	l.ends = append(l.ends[:0], l.ends[before:]...)
	l.passed += before
	return l.passed + 1
}
