package reconcile

import (
	"container/heap"
	"math/rand/v2"
	"time"
)

// queue holds the keys that are to be looked at: one entry a key, the earliest time wins.
// It belongs to the loop's goroutine.
type queue struct {
	due   map[string]time.Time
	order dueHeap // may hold entries that due no longer confirms
	fails map[string]int
}

func newQueue() *queue { return &queue{due: map[string]time.Time{}, fails: map[string]int{}} }

// add asks for a look at the key at that time, or earlier if that was asked for before.
func (q *queue) add(key string, at time.Time) {
	if old, ok := q.due[key]; ok && !at.Before(old) {
		return
	}
	q.due[key] = at
	heap.Push(&q.order, dueKey{key, at})
}

// retry asks for another look after a failure: one second, doubling to five minutes, with
// a quarter of jitter.
func (q *queue) retry(key string, now time.Time) {
	pause := min(time.Second<<min(q.fails[key], 10), 5*time.Minute)
	q.fails[key]++
	q.add(key, now.Add(pause+rand.N(pause/4)))
}

// forget ends the memory of failures.
func (q *queue) forget(key string) { delete(q.fails, key) }

// pop takes out a key that is due.
func (q *queue) pop(now time.Time) (key string, ok bool) {
	key, wait, ok := q.peek(now)
	if !ok || wait > 0 {
		return "", false
	}
	heap.Pop(&q.order)
	delete(q.due, key)
	return key, true
}

// peek returns the first key and how long it is until it is due; false when there is none.
func (q *queue) peek(now time.Time) (key string, wait time.Duration, ok bool) {
	for len(q.order) > 0 {
		first := q.order[0]
		if at, asked := q.due[first.key]; !asked || !at.Equal(first.at) {
			heap.Pop(&q.order) // an earlier time was asked for since
			continue
		}
		return first.key, max(first.at.Sub(now), 0), true
	}
	return "", 0, false
}

type dueKey struct {
	key string
	at  time.Time
}

type dueHeap []dueKey

func (h dueHeap) Len() int           { return len(h) }
func (h dueHeap) Less(i, j int) bool { return h[i].at.Before(h[j].at) }
func (h dueHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *dueHeap) Push(x any)        { *h = append(*h, x.(dueKey)) }
func (h *dueHeap) Pop() any {
	old := *h
	last := old[len(old)-1]
	*h = old[:len(old)-1]
	return last
}
