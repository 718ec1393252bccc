package judge

import (
	"slices"
	"sync"
	"time"

	"github.com/assayd/assayd/runtime/judge/round"
)

// queue offers rounds to judge, and games that wait for room, trial by trial in turn. What does
// not fit on the machine now is passed over, a few times.
// Places are taken before an archive is read, so that a full queue refuses before anything
// is spent. Games and mixed runs have bounds of their own and take none.
type queue struct {
	mu      sync.Mutex
	max     int // places in all
	share   int // places that one trial can take
	passes  int // maxPassed; fewer in tests
	taken   int
	byTrial map[string]int
	lines   map[string][]*waiter // trial -> what it has in line
	turns   []string             // trials with a line, whose turn is next first
	wake    chan struct{}        // holds one value while there may be something new to serve
}

// waiter is a round that is to be judged, or a game that waits for room.
type waiter struct {
	trial, id string
	room      *roomRequest // a game's; nil = a round
	since     time.Time    // when it came into line
	patient   bool         // no agent waits for it: it comes behind what others have in line, and takes no place

	// These belong to who serves the queue.
	passed int   // how many that came later were started before it
	leads  *tree // the round is the one of its tree that is judged; nil = that is not known yet
}

// placed reports whether the waiter has a place of the queue.
func (w *waiter) placed() bool { return w.room == nil && !w.patient }

// kind is round.KindMixed of a patient waiter; of others it says nothing.
func (w *waiter) kind() round.Kind {
	if w.patient {
		return round.KindMixed
	}
	return ""
}

// maxPassed is how many others may start before one that was there first. Then it holds its place:
// nothing behind it starts before it fits.
const maxPassed = 16

// served is what became of one that was offered.
type served int

const (
	noRoom   served = iota // there is no room for it now
	moreRoom               // there is room, and more than when others were passed over: these come first
	needless               // it needs no room any more
	hasRoom                // it has its room
)

func newQueue(max int) *queue {
	return &queue{
		max: max, share: (max + 3) / 4, passes: maxPassed,
		byTrial: map[string]int{}, lines: map[string][]*waiter{}, wake: make(chan struct{}, 1),
	}
}

// take reserves a place. With force it always does: what was accepted is never lost.
func (q *queue) take(trial string, force bool) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !force && (q.taken >= q.max || q.byTrial[trial] >= q.share) {
		return false
	}
	q.taken++
	q.byTrial[trial]++
	return true
}

// takeFor is take for a round of a kind. For a mixed run no agent waits: it takes no place away
// from those for which one does.
func (q *queue) takeFor(trial string, kind round.Kind, force bool) bool {
	return kind == round.KindMixed || q.take(trial, force)
}

// giveFor returns what takeFor took.
func (q *queue) giveFor(trial string, kind round.Kind) {
	if kind != round.KindMixed {
		q.give(trial)
	}
}

// give returns a place without having used it.
func (q *queue) give(trial string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.leave(trial)
}

func (q *queue) leave(trial string) {
	q.taken--
	if q.byTrial[trial]--; q.byTrial[trial] == 0 {
		delete(q.byTrial, trial)
	}
}

// push puts a round into a place taken before.
func (q *queue) push(trial, id string) { q.add(&waiter{trial: trial, id: id}) }

// enqueue is push for a round of a kind, with what takeFor took: a mixed run comes behind the rounds
// of all trials.
func (q *queue) enqueue(trial, id string, kind round.Kind) {
	q.add(&waiter{trial: trial, id: id, patient: kind == round.KindMixed})
}

func (q *queue) add(w *waiter) {
	w.since = time.Now()
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.lines[w.trial]) == 0 {
		q.turns = append(q.turns, w.trial)
	}
	q.lines[w.trial] = append(q.lines[w.trial], w)
	q.signal()
}

// drop takes out a game that need not wait any more, if it is still there.
func (q *queue) drop(w *waiter) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if i := slices.Index(q.lines[w.trial], w); i >= 0 {
		q.lines[w.trial] = slices.Delete(q.lines[w.trial], i, i+1)
		q.shorten(w.trial)
	}
	q.signal() // what it held up may have its turn
}

// shorten ends the turns of a trial with an empty line.
func (q *queue) shorten(trial string) {
	if len(q.lines[trial]) > 0 {
		return
	}
	delete(q.lines, trial)
	q.turns = slices.DeleteFunc(q.turns, func(t string) bool { return t == trial })
}

func (q *queue) signal() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// forget drops what a trial has in line.
func (q *queue) forget(trial string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, w := range q.lines[trial] {
		if w.placed() {
			q.leave(trial)
		}
	}
	q.lines[trial] = nil
	q.shorten(trial)
	q.signal()
}

// offer offers what is first in the line of each trial, in turn, as long as any of it goes. serve is
// called without a lock, and decides; of one trial all need the same room, so what is behind one
// that stays is not offered. first says that the waiter has passed over no other.
func (q *queue) offer(serve func(w *waiter, first bool) served) {
	for again := true; again; {
		again = false
		var over []*waiter // that stay
		for _, w := range q.heads() {
			if slices.ContainsFunc(over, func(o *waiter) bool { return o.passed >= q.passes }) {
				break
			}
			became := serve(w, len(over) == 0)
			if became == noRoom {
				over = append(over, w)
				continue
			}
			if again = true; became == moreRoom {
				break
			}
			q.leaves(w)
			if became == hasRoom {
				for _, o := range over {
					o.passed++
				}
			}
		}
	}
}

// heads are the first in line of all trials, in turn, and behind them those that are patient.
func (q *queue) heads() []*waiter {
	q.mu.Lock()
	defer q.mu.Unlock()
	heads := make([]*waiter, len(q.turns))
	for i, trial := range q.turns {
		heads[i] = q.lines[trial][0]
	}
	slices.SortStableFunc(heads, func(a, b *waiter) int {
		switch {
		case a.patient == b.patient:
			return 0
		case b.patient:
			return -1
		}
		return 1
	})
	return heads
}

// leaves takes one out that was served and frees its place, unless it was forgotten meanwhile. The
// trial has its next turn after all others.
func (q *queue) leaves(w *waiter) {
	q.mu.Lock()
	defer q.mu.Unlock()
	line := q.lines[w.trial]
	if len(line) == 0 || line[0] != w {
		return
	}
	q.turns = slices.DeleteFunc(q.turns, func(t string) bool { return t == w.trial })
	if len(line) > 1 {
		q.lines[w.trial] = line[1:]
		q.turns = append(q.turns, w.trial)
	} else {
		delete(q.lines, w.trial)
	}
	if w.placed() {
		q.leave(w.trial)
	}
}
