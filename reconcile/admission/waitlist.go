package admission

import (
	"cmp"
	"time"
)

// Waitlist are the runs that have a cell to start and no room for it. What comes free is offered to
// the run of the highest priority, of these to that of which the fewest trials work, then to the one that
// waits longest, until there is no room for any. It belongs to one goroutine.
type Waitlist struct {
	room     *Controller
	waiting  map[string]waiter // by address
	working  map[string]int    // trials that have a goroutine, by address
	ranks    map[string]int    // priorities that are not 0, by address
	freed    bool              // there may be room that no run was offered
	since    time.Time         // when the run began to wait that is looked at now
	reserved map[string]Need   // room of trials that run without a goroutine so far, by id
}

// waiter is a run that waits for room.
type waiter struct {
	address string
	since   time.Time
	need    Need // of its next container
	yielded bool // there was room, and it was another's turn
}

// NewWaitlist returns a list on which no run waits.
func NewWaitlist(room *Controller) *Waitlist {
	return &Waitlist{room: room, waiting: map[string]waiter{}, working: map[string]int{}, ranks: map[string]int{}, reserved: map[string]Need{}}
}

// Count notes that trials of a run have got a goroutine, or lost it.
func (l *Waitlist) Count(address string, by int) {
	if l.working[address] += by; l.working[address] == 0 {
		delete(l.working, address)
	}
}

// Rank notes the priority of a run: those of a higher one are offered room first. What works is left alone.
func (l *Waitlist) Rank(address string, priority int) {
	if priority == 0 {
		delete(l.ranks, address)
		return
	}
	l.ranks[address] = priority
}

// Leave takes the run off the list that is looked at now.
func (l *Waitlist) Leave(address string, now time.Time) {
	l.since = now
	if w, ok := l.waiting[address]; ok {
		l.since = w.since
		delete(l.waiting, address)
	}
}

// Waits reports whether a run is on the list.
func (l *Waitlist) Waits(address string) bool {
	_, waits := l.waiting[address]
	return waits
}

// order compares who is offered room first.
func (l *Waitlist) order(a, b waiter) int {
	return cmp.Or(cmp.Compare(l.ranks[b.address], l.ranks[a.address]), cmp.Compare(l.working[a.address], l.working[b.address]), a.since.Compare(b.since), cmp.Compare(a.address, b.address))
}

// first is who is offered room next, among those for which fits holds.
func (l *Waitlist) first(fits func(Need) bool) (first waiter, ok bool) {
	for _, w := range l.waiting {
		if (!ok || l.order(w, first) < 0) && fits(w.need) {
			first, ok = w, true
		}
	}
	return first, ok
}

// yields reports whether room is another's before it is this one's.
func (l *Waitlist) yields(w waiter, fits func(Need) bool) bool {
	first, ok := l.first(fits)
	return ok && l.order(first, w) < 0
}

// Admit admits the next container of the run that is looked at, where there is room and it is the
// run's turn. Otherwise the run waits; why says for what, once that is certain.
func (l *Waitlist) Admit(address string, need Need, now time.Time) (why string, ok bool) {
	w := waiter{address: address, since: l.since, need: need}
	w.yielded = l.yields(w, l.room.fitsWork)
	if !w.yielded && l.room.TryWork(need) {
		l.since = now
		return "", true
	}
	if _, waits := l.waiting[address]; waits { // with the container that comes first
		return "", false
	}
	l.freed = l.freed || w.yielded
	l.waiting[address] = w
	if w.yielded {
		return "", false
	}
	return l.room.explain(need), false
}

// Freed notes that there may be room that no run was offered.
func (l *Waitlist) Freed() { l.freed = true }

// Offer returns the run whose next container there is room for now. If there is room for none, it tells
// why of those that have left room to others.
func (l *Waitlist) Offer(tell func(address, why string)) (address string, ok bool) {
	if !l.freed {
		return "", false
	}
	if w, ok := l.first(l.room.fitsWork); ok {
		return w.address, true
	}
	l.freed = false
	for address, w := range l.waiting {
		if w.yielded {
			w.yielded = false
			l.waiting[address] = w
			tell(address, l.room.explain(w.need))
		}
	}
	return "", false
}

// Reserve takes the room of a trial that was found running, before its goroutine starts.
func (l *Waitlist) Reserve(id string, need Need) {
	l.room.ForceWork(need)
	l.reserved[id] = need
}

// Take takes the room of a trial that runs already, unless it is reserved, and returns what was taken.
func (l *Waitlist) Take(id string, need Need) Need {
	if had, ok := l.reserved[id]; ok {
		delete(l.reserved, id) // from here on the trial's goroutine has it
		return had
	}
	l.room.ForceWork(need)
	return need
}
