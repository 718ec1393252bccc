package troubles

import (
	"errors"
	"log/slog"
	"strings"
	"sync"

	"github.com/assayd/assayd/runtime/container"
)

// Troubles are errors that are met again and again, each of which is told once until it changes
// or is over. What keeps all from the engine or from the store is one trouble, whoever meets it. The zero value has
// none. Any goroutine may call its methods.
type Troubles struct {
	mu   sync.Mutex
	last map[string]string // what there is trouble with -> its cause
}

// Whom all share.
const (
	Engine = "the container engine"
	Store  = "the store"
)

// news notes what who met, and reports whether it was not known.
func (t *Troubles) news(who string, err error) bool {
	cause := err.Error()
	switch {
	case errors.Is(err, container.ErrUnavailable):
		who = Engine
		_, cause, _ = strings.Cut(cause, container.ErrUnavailable.Error())
	case who == Store:
		cause = rootOf(err).Error()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if known, ok := t.last[who]; ok && known == cause {
		return false
	}
	if t.last == nil {
		t.last = map[string]string{}
	}
	t.last[who] = cause
	return true
}

// Level is at which an error is logged that who met: what is no news only tells who looks closely how
// often it comes.
func (t *Troubles) Level(who string, err error, news slog.Level) slog.Level {
	if t.news(who, err) {
		return news
	}
	return slog.LevelDebug
}

// Over forgets what there was with who.
func (t *Troubles) Over(who string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.last, who)
}

// rootOf is the error that an error is about in the end, without who met it.
func rootOf(err error) error {
	for next := errors.Unwrap(err); next != nil; next = errors.Unwrap(err) {
		err = next
	}
	return err
}
