package keylock

import (
	"context"
	"sync"
)

// Locks are locks by key. The zero value has none held.
type Locks struct {
	mu   sync.Mutex
	held map[string]*lock
}

// lock is that of a key which somebody holds or waits for.
type lock struct {
	token chan struct{} // full while somebody holds it
	users int
}

// Lock waits for the lock of a key, or for the end of the context, whose cause is the error then. Whoever has
// the lock must call unlock once.
func (l *Locks) Lock(ctx context.Context, key string) (unlock func(), err error) {
	l.mu.Lock()
	if l.held == nil {
		l.held = map[string]*lock{}
	}
	mine := l.held[key]
	if mine == nil {
		mine = &lock{token: make(chan struct{}, 1)}
		l.held[key] = mine
	}
	mine.users++
	l.mu.Unlock()
	select {
	case mine.token <- struct{}{}:
		return func() { <-mine.token; l.leave(key, mine) }, nil
	case <-ctx.Done():
		l.leave(key, mine)
		return nil, context.Cause(ctx)
	}
}

// TryLock is Lock where nobody holds the lock or waits for it; else it reports false.
func (l *Locks) TryLock(key string) (unlock func(), ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held[key] != nil {
		return nil, false
	}
	if l.held == nil {
		l.held = map[string]*lock{}
	}
	mine := &lock{token: make(chan struct{}, 1), users: 1}
	mine.token <- struct{}{}
	l.held[key] = mine
	return func() { <-mine.token; l.leave(key, mine) }, true
}

// leave forgets a lock that nobody holds or waits for.
func (l *Locks) leave(key string, mine *lock) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if mine.users--; mine.users == 0 {
		delete(l.held, key)
	}
}
