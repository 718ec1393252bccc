package workqueue

import (
	"container/heap"
	"math/rand/v2"
	"time"
)

// Queue holds the keys that are to be looked at: one entry a key, the earliest time wins.
// It belongs to the loop's goroutine.
type Queue struct {
	due   map[string]time.Time
	order dueHeap // may hold entries that due no longer confirms
	fails map[string]int
}

// New returns an empty queue.
func New() *Queue { return &Queue{due: map[string]time.Time{}, fails: map[string]int{}} }

// Add asks for a look at the key at that time, or earlier if that was asked for before.
func (q *Queue) Add(key string, at time.Time) {
	if old, ok := q.due[key]; ok && !at.Before(old) {
		return
	}
	q.due[key] = at
	heap.Push(&q.order, dueKey{key, at})
}

// Retry asks for another look after a failure: one second, doubling to five minutes, with
// a quarter of jitter.
func (q *Queue) Retry(key string, now time.Time) {
	pause := min(time.Second<<min(q.fails[key], 10), 5*time.Minute)
	q.fails[key]++
	q.Add(key, now.Add(pause+rand.N(pause/4)))
}

// Fails is how often a key was looked at again after a failure, since the last Forget.
func (q *Queue) Fails(key string) int { return q.fails[key] }

// Due is when a key is to be looked at; false = it is not.
func (q *Queue) Due(key string) (at time.Time, ok bool) {
	at, ok = q.due[key]
	return at, ok
}

// Forget ends the memory of failures.
func (q *Queue) Forget(key string) { delete(q.fails, key) }

// Pop takes out a key that is due.
func (q *Queue) Pop(now time.Time) (key string, ok bool) {
	key, wait, ok := q.Peek(now)
	if !ok || wait > 0 {
		return "", false
	}
	heap.Pop(&q.order)
	delete(q.due, key)
	return key, true
}

// PopAll takes out keys that are due, at most so many.
func (q *Queue) PopAll(now time.Time, most int) (keys []string) {
	for len(keys) < most {
		key, ok := q.Pop(now)
		if !ok {
			break
		}
		keys = append(keys, key)
	}
	return keys
}

// Peek returns the first key and how long it is until it is due; false when there is none.
func (q *Queue) Peek(now time.Time) (key string, wait time.Duration, ok bool) {
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
