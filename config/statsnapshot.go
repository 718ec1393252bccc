package config

import (
	"crypto/sha256"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/assayd/assayd/runtime/kernel"
)

// StatSnapshot is how everything that one look at a root has gone by lay in the file system. While
// it holds, another look would find the same: of ten thousand files that nobody touches
// none needs to be read again.
type StatSnapshot struct {
	at     time.Time // when the look began
	places []place
	vague  bool // something was not to be seen, or too young to be told from what comes next
}

// place is a file or folder, as its path leads to it.
type place struct {
	path  string
	trace trace
	list  *[sha256.Size]byte // of a folder: what of its entries matters; nil = it is none
	lead  bool               // only where the path leads to matters
}

// trace tells whether a file or the list of a folder has changed. The change time is the
// kernel's: whoever writes moves it, and nobody can set it back.
type trace struct {
	kernel.File
	missing bool
}

// youngTrace is for how long another change may leave the change time as it is: file systems
// count it in steps, of two seconds at most.
const youngTrace = 2 * time.Second

func traceOf(path string) trace {
	f, ok := kernel.Stat(path)
	return trace{f, !ok}
}

func (t trace) changedAt() time.Time { return time.Unix(t.Changed.Unix()) }

// old reports whether a change after now would move the change time.
func (t trace) old(now time.Time) bool { return now.Sub(t.changedAt()) > youngTrace }

// note keeps how a file lies before it is read: what is changed in between is then seen by
// the next look.
func (s *StatSnapshot) note(path string) {
	t := traceOf(path)
	if !t.missing && !t.old(s.at) {
		s.vague = true
	}
	s.places = append(s.places, place{path: path, trace: t})
}

// follow keeps where a path leads to.
func (s *StatSnapshot) follow(path string) {
	s.places = append(s.places, place{path: path, trace: traceOf(path).identity(), lead: true})
}

// list reads a folder and keeps how it lay before.
func (s *StatSnapshot) list(path string) ([]fs.DirEntry, error) {
	t := traceOf(path)
	entries, err := os.ReadDir(path)
	if err == nil {
		sum := sumOf(entries)
		s.places = append(s.places, place{path: path, trace: t.trusted(s.at), list: &sum})
	}
	return entries, err
}

// identity is the trace without what may change of one and the same file.
func (t trace) identity() trace {
	return trace{kernel.File{Device: t.Device, Inode: t.Inode}, t.missing}
}

// trusted is the trace if it can be compared with a later one, and else one that equals none.
func (t trace) trusted(now time.Time) trace {
	if !t.old(now) {
		return trace{}
	}
	return t
}

// sumOf stands for the entries of a folder that a look goes by. Records are none of them: the
// daemon makes new ones all the time.
func sumOf(entries []fs.DirEntry) [sha256.Size]byte {
	sum := sha256.New()
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".") && (!e.Type().IsRegular() || isSpec(e.Name())) {
			sum.Write([]byte(e.Type().String() + e.Name() + "\x00"))
		}
	}
	return [sha256.Size]byte(sum.Sum(nil))
}

// Holds reports whether nothing of it has changed. It asks for each file and folder once and
// reads no file. It cannot speak for a file system that does not keep change times.
func (s StatSnapshot) Holds(now time.Time) bool {
	for i := range s.places {
		if !s.places[i].holds(now) {
			return false
		}
	}
	return len(s.places) > 0 && !s.vague
}

// holds looks at one place. A folder that has changed in what does not matter is as before,
// and is remembered as it is now.
func (p *place) holds(now time.Time) bool {
	t := traceOf(p.path)
	switch {
	case p.lead:
		return t.identity() == p.trace
	case t == p.trace:
		return true
	case p.list == nil:
		return false
	}
	entries, err := os.ReadDir(p.path)
	if err != nil || sumOf(entries) != *p.list {
		return false
	}
	p.trace = t.trusted(now)
	return true
}
