package config

import (
	"syscall"
	"time"
)

// Sight is how everything that one look at a root has gone by lay in the file system. While
// it holds, another look would find the same: of ten thousand files that nobody touches
// none needs to be read again.
type Sight struct {
	places []place
	vague  bool // something was not to be seen, or too young to be told from what comes next
}

// place is a file or folder, as its path leads to it.
type place struct {
	path  string
	trace trace
}

// trace tells whether a file or the list of a folder has changed. The change time is the
// kernel's: whoever writes moves it, and nobody can set it back.
type trace struct {
	device, inode uint64
	size          int64
	changed       syscall.Timespec
	missing       bool
}

// youngTrace is for how long another change may leave the change time as it is: file systems
// count it in steps, of two seconds at most.
const youngTrace = 2 * time.Second

func traceOf(path string) trace {
	var stat syscall.Stat_t
	if syscall.Stat(path, &stat) != nil {
		return trace{missing: true}
	}
	return trace{device: uint64(stat.Dev), inode: stat.Ino, size: stat.Size, changed: stat.Ctim}
}

func (t trace) changedAt() time.Time { return time.Unix(t.changed.Unix()) }

// note keeps how a path lies before it is read: what is changed in between is then seen by
// the next look.
func (s *Sight) note(path string) {
	t := traceOf(path)
	if !t.missing && time.Since(t.changedAt()) < youngTrace {
		s.vague = true
	}
	s.places = append(s.places, place{path, t})
}

// Holds reports whether nothing of it has changed. It asks for each file and folder once and
// reads none. It cannot speak for a file system that does not keep change times.
func (s Sight) Holds() bool {
	for _, p := range s.places {
		if traceOf(p.path) != p.trace {
			return false
		}
	}
	return len(s.places) > 0 && !s.vague
}
