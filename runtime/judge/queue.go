package judge

import (
	"context"
	"sync"
)

// queue hands out rounds to judge, trial by trial in turn. Places are taken before an
// archive is read, so that a full queue refuses before anything is spent.
type queue struct {
	mu      sync.Mutex
	max     int // places in all
	share   int // places that one trial can take
	taken   int
	byTrial map[string]int
	lines   map[string][]string // trial -> ids of its rounds
	turns   []string            // trials with rounds, whose turn is next first
	wake    chan struct{}       // holds one value while lines may hold something
}

func newQueue(max int) *queue {
	return &queue{
		max: max, share: (max + 3) / 4,
		byTrial: map[string]int{}, lines: map[string][]string{}, wake: make(chan struct{}, 1),
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
func (q *queue) push(trial, id string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.lines[trial]) == 0 {
		q.turns = append(q.turns, trial)
	}
	q.lines[trial] = append(q.lines[trial], id)
	q.signal()
}

func (q *queue) signal() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// forget drops the rounds of a trial.
func (q *queue) forget(trial string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for range q.lines[trial] {
		q.leave(trial)
	}
	delete(q.lines, trial)
	for i, t := range q.turns {
		if t == trial {
			q.turns = append(q.turns[:i], q.turns[i+1:]...)
			break
		}
	}
}

// next waits for a round and frees its place.
func (q *queue) next(ctx context.Context) (trial, id string, err error) {
	for {
		if trial, id, ok := q.pop(); ok {
			return trial, id, nil
		}
		select {
		case <-q.wake:
		case <-ctx.Done():
			return "", "", context.Cause(ctx)
		}
	}
}

func (q *queue) pop() (trial, id string, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.turns) == 0 {
		return "", "", false
	}
	trial = q.turns[0]
	q.turns = q.turns[1:]
	line := q.lines[trial]
	id = line[0]
	if len(line) > 1 {
		q.lines[trial] = line[1:]
		q.turns = append(q.turns, trial)
	} else {
		delete(q.lines, trial)
	}
	q.leave(trial)
	if len(q.turns) > 0 {
		q.signal()
	}
	return trial, id, true
}
