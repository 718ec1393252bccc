package gateway

import (
	"context"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// line is where requests to one provider wait for their turn: trial by trial, so that one
// with a hundred requests at once takes no more than another with one. All state is guarded
// by mu.
type line struct {
	mu       sync.Mutex
	places   int // requests at the same time; 0 = no limit
	taken    int
	requests *rate.Limiter // nil = no limit
	tokens   *rate.Limiter
	pauses   map[string]time.Time // that the provider asked for, by model
	waiting  map[string][]*ticket // by trial
	turns    []string             // trials with somebody in line, whose turn is next first
	timer    *time.Timer          // set when a limit alone is in the way
	stopped  bool
}

// ticket is one request in line.
type ticket struct {
	tokens int
	model  string
	ready  chan struct{} // closed when it is its turn
	called bool
}

func newLine(places, requestsPerMinute, tokensPerMinute int) *line {
	return &line{
		places: places, requests: perMinute(requestsPerMinute, 6), tokens: perMinute(tokensPerMinute, 1),
		waiting: map[string][]*ticket{}, pauses: map[string]time.Time{},
	}
}

// perMinute lets through n a minute, at most one part of them at once.
func perMinute(n, parts int) *rate.Limiter {
	if n <= 0 {
		return nil
	}
	return rate.NewLimiter(rate.Limit(float64(n)/60), max(n/parts, 1))
}

// enter waits for the turn of a request of so many tokens to a model. The caller leaves when the
// provider has answered.
func (l *line) enter(ctx context.Context, trial, model string, tokens int64) error {
	t := &ticket{tokens: int(min(tokens, math.MaxInt32)), model: model, ready: make(chan struct{})}
	l.mu.Lock()
	if len(l.waiting[trial]) == 0 {
		l.turns = append(l.turns, trial)
	}
	l.waiting[trial] = append(l.waiting[trial], t)
	l.call()
	l.mu.Unlock()
	select {
	case <-t.ready:
		return nil
	case <-ctx.Done():
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if t.called { // just now
		l.taken--
	} else {
		l.drop(trial, t)
	}
	l.call()
	return context.Cause(ctx)
}

// leave gives a place back and takes what the request cost beyond what was known before.
func (l *line) leave(more int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.taken--
	if l.tokens != nil {
		for left := int(min(more, math.MaxInt32)); left > 0; left -= l.tokens.Burst() {
			l.tokens.ReserveN(time.Now(), min(left, l.tokens.Burst()))
		}
	}
	l.call()
}

// maxPauses bounds the models that are waited for, which agents name.
const maxPauses = 1000

// pause holds all requests to a model back until then: the provider said that it has too many
// of them. Its others may well be free.
func (l *line) pause(model string, until time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	maps.DeleteFunc(l.pauses, func(_ string, end time.Time) bool { return !end.After(now) })
	if until.After(l.pauses[model]) && len(l.pauses) < maxPauses {
		l.pauses[model] = until
	}
}

// call lets in whom the limits allow.
func (l *line) call() {
	for l.places == 0 || l.taken < l.places {
		turn, n, pause := l.next()
		if turn < 0 {
			if pause > 0 {
				l.wake(pause)
			}
			return
		}
		trial := l.turns[turn]
		t := l.waiting[trial][n]
		if wait := l.wait(t.tokens); wait > 0 {
			l.wake(wait)
			return
		}
		l.turns = slices.Delete(l.turns, turn, turn+1)
		if l.waiting[trial] = slices.Delete(l.waiting[trial], n, n+1); len(l.waiting[trial]) > 0 {
			l.turns = append(l.turns, trial)
		} else {
			delete(l.waiting, trial)
		}
		l.taken++
		t.called = true
		close(t.ready)
	}
}

// next is whose turn it is, and which of its requests: the first whose model has no pause. It
// is -1 if there is none, and pause is then how long the shortest pause lasts.
func (l *line) next() (turn, n int, pause time.Duration) {
	now := time.Now()
	for turn, trial := range l.turns {
		for n, t := range l.waiting[trial] {
			left := l.pauses[t.model].Sub(now)
			if left <= 0 {
				return turn, n, 0
			}
			if pause == 0 || left < pause {
				pause = left
			}
		}
	}
	return -1, 0, pause
}

// wait is how long the limits keep a request out; if they do not, it is counted.
func (l *line) wait(tokens int) time.Duration {
	now := time.Now()
	var taken []*rate.Reservation
	for _, limit := range []struct {
		of *rate.Limiter
		n  int
	}{{l.requests, 1}, {l.tokens, tokens}} {
		if limit.of == nil || limit.n == 0 {
			continue
		}
		r := limit.of.ReserveN(now, min(limit.n, limit.of.Burst()))
		taken = append(taken, r)
		if delay := r.DelayFrom(now); delay > 0 {
			for _, r := range taken {
				r.CancelAt(now)
			}
			return delay
		}
	}
	return 0
}

// wake has the line looked at again.
func (l *line) wake(after time.Duration) {
	if l.stopped {
		return
	}
	if l.timer != nil {
		l.timer.Stop()
	}
	l.timer = time.AfterFunc(after, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.call()
	})
}

// drop takes out a request whose client has gone.
func (l *line) drop(trial string, t *ticket) {
	same := func(other *ticket) bool { return other == t }
	if l.waiting[trial] = slices.DeleteFunc(l.waiting[trial], same); len(l.waiting[trial]) == 0 {
		delete(l.waiting, trial)
		l.turns = slices.DeleteFunc(l.turns, func(other string) bool { return other == trial })
	}
}

// stop ends the timer. Whoever still waits does so until its context ends.
func (l *line) stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stopped = true
	if l.timer != nil {
		l.timer.Stop()
	}
}
