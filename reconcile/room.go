package reconcile

import (
	"cmp"
	"time"
)

// roomLine are the runs that have a cell to start and no room for it. What comes free is offered to
// the run of which the fewest trials work, then to the one that waits longest, until there is no room
// for any. It belongs to the loop.
type roomLine struct {
	waiting map[string]roomWait // by address
	working map[string]int      // trials that have a goroutine, by address
	more    bool                // there may be room that nobody was offered
	since   time.Time           // when the run began to wait that is looked at now
}

// roomWait is a run that waits for room.
type roomWait struct {
	address string
	since   time.Time
	need    Need // of its next container
	yielded bool // there was room, and it was another's turn
}

func newRoomLine() roomLine {
	return roomLine{waiting: map[string]roomWait{}, working: map[string]int{}}
}

// count notes that trials of a run have got a goroutine, or lost it.
func (l *roomLine) count(address string, by int) {
	if l.working[address] += by; l.working[address] == 0 {
		delete(l.working, address)
	}
}

// leave takes a run out of line that is looked at now.
func (l *roomLine) leave(address string, now time.Time) {
	l.since = now
	if w, ok := l.waiting[address]; ok {
		l.since = w.since
		delete(l.waiting, address)
	}
}

// order compares who is offered room first.
func (l *roomLine) order(a, b roomWait) int {
	return cmp.Or(cmp.Compare(l.working[a.address], l.working[b.address]), a.since.Compare(b.since), cmp.Compare(a.address, b.address))
}

// first is who is offered room next, among those for which fits holds.
func (l *roomLine) first(fits func(Need) bool) (first roomWait, ok bool) {
	for _, w := range l.waiting {
		if (!ok || l.order(w, first) < 0) && fits(w.need) {
			first, ok = w, true
		}
	}
	return first, ok
}

// yields reports whether room is another's before it is this one's.
func (l *roomLine) yields(w roomWait, fits func(Need) bool) bool {
	first, ok := l.first(fits)
	return ok && l.order(first, w) < 0
}

// admit admits the next container of the run that is looked at, where there is room and it is the
// run's turn. Else the run waits.
func (r *Reconciler) admit(address string, need Need) bool {
	w := roomWait{address: address, since: r.roomLine.since, need: need}
	w.yielded = r.roomLine.yields(w, r.o.Admission.fitsWork)
	if !w.yielded && r.o.Admission.TryWork(need) {
		r.roomLine.since = r.now()
		return true
	}
	if _, waits := r.roomLine.waiting[address]; waits { // with the container that comes first
		return false
	}
	r.roomLine.more = r.roomLine.more || w.yielded
	r.roomLine.waiting[address] = w
	if !w.yielded {
		r.notes[address] = r.o.Admission.explain(need)
	}
	return false
}

// offer returns the run whose next container there is room for now. When there is room for none, those
// that have left it to others are told so.
func (r *Reconciler) offer() (address string, ok bool) {
	if !r.roomLine.more {
		return "", false
	}
	if w, ok := r.roomLine.first(r.o.Admission.fitsWork); ok {
		return w.address, true
	}
	r.roomLine.more = false
	for address, w := range r.roomLine.waiting {
		if w.yielded {
			w.yielded = false
			r.roomLine.waiting[address] = w
			r.notes[address] = r.o.Admission.explain(w.need)
		}
	}
	return "", false
}
