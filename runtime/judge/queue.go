package judge

import (
	"context"
	"slices"
	"sync"
)

// queue hands out rounds to judge, and games that wait for room, trial by trial in turn.
// Places are taken before an archive is read, so that a full queue refuses before anything
// is spent. Games have bounds of their own and take none.
type queue struct {
	mu      sync.Mutex
	max     int // places in all
	share   int // places that one trial can take
	taken   int
	byTrial map[string]int
	lines   map[string][]waiter // trial -> what it has in line
	turns   []string            // trials with a line, whose turn is next first
	wake    chan struct{}       // holds one value while lines may hold something
}

// waiter is a round that is to be judged, or a game that waits for room.
type waiter struct {
	trial, id string
	room      *roomRequest // a game's; nil = a round
}

func newQueue(max int) *queue {
	return &queue{
		max: max, share: (max + 3) / 4,
		byTrial: map[string]int{}, lines: map[string][]waiter{}, wake: make(chan struct{}, 1),
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
func (q *queue) push(trial, id string) { q.add(waiter{trial: trial, id: id}) }

func (q *queue) add(w waiter) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.lines[w.trial]) == 0 {
		q.turns = append(q.turns, w.trial)
	}
	q.lines[w.trial] = append(q.lines[w.trial], w)
	q.signal()
}

// drop takes out what need not wait any more, if it is still there.
func (q *queue) drop(w waiter) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if i := slices.Index(q.lines[w.trial], w); i >= 0 {
		q.lines[w.trial] = slices.Delete(q.lines[w.trial], i, i+1)
		q.shorten(w.trial)
	}
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
		if w.room == nil {
			q.leave(trial)
		}
	}
	q.lines[trial] = nil
	q.shorten(trial)
}

// next waits for what is next and frees its place.
func (q *queue) next(ctx context.Context) (waiter, error) {
	for {
		if w, ok := q.pop(); ok {
			return w, nil
		}
		select {
		case <-q.wake:
		case <-ctx.Done():
			return waiter{}, context.Cause(ctx)
		}
	}
}

func (q *queue) pop() (w waiter, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.turns) == 0 {
		return waiter{}, false
	}
	trial := q.turns[0]
	q.turns = q.turns[1:]
	line := q.lines[trial]
	w = line[0]
	if len(line) > 1 {
		q.lines[trial] = line[1:]
		q.turns = append(q.turns, trial)
	} else {
		delete(q.lines, trial)
	}
	if w.room == nil {
		q.leave(trial)
	}
	if len(q.turns) > 0 {
		q.signal()
	}
	return w, true
}
