package mining

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"syscall"
	"time"

	"github.com/assayd/assayd/runtime/clock"
	"github.com/assayd/assayd/runtime/git"
	"github.com/assayd/assayd/runtime/llm"
	"github.com/assayd/assayd/runtime/mining/archive"
	"github.com/assayd/assayd/runtime/mining/extract"
	"github.com/assayd/assayd/runtime/mining/github"
	"github.com/assayd/assayd/runtime/mining/reason"
	"github.com/assayd/assayd/runtime/mining/workbench"
	"github.com/assayd/assayd/runtime/waiting"
)

// bookError says that the book cannot be read or written. It is no pull request's fault: all
// stays as it is until somebody runs the miner again.
type bookError struct{ why error }

// Error says what was the matter with the book.
func (e *bookError) Error() string { return fmt.Sprintf("the book of mining: %v", e.why) }

// Unwrap gives what was the matter.
func (e *bookError) Unwrap() error { return e.why }

func ofBook(err error) error {
	if err == nil {
		return nil
	}
	return &bookError{err}
}

// ours reports whether an error comes from the book, however far below it was asked.
func ours(err error) bool {
	_, ok := errors.AsType[*bookError](err)
	return ok
}

// marked is a book whose errors can be told from all others.
type marked struct{ Book }

func (b marked) Find(ctx context.Context, found []Found, mark Mark) error {
	return ofBook(b.Book.Find(ctx, found, mark))
}

func (b marked) Marks(ctx context.Context, prefix string) ([]Mark, error) {
	all, err := b.Book.Marks(ctx, prefix)
	return all, ofBook(err)
}

func (b marked) Open(ctx context.Context, after int64, limit int) ([]Candidate, error) {
	all, err := b.Book.Open(ctx, after, limit)
	return all, ofBook(err)
}

func (b marked) Decide(ctx context.Context, all ...Decision) error {
	return ofBook(b.Book.Decide(ctx, all...))
}

func (b marked) Answer(ctx context.Context, pull, key string) ([]byte, bool, error) {
	value, ok, err := b.Book.Answer(ctx, pull, key)
	return value, ok, ofBook(err)
}

func (b marked) Keep(ctx context.Context, answers ...Answer) error {
	return ofBook(b.Book.Keep(ctx, answers...))
}

func (b marked) Environment(ctx context.Context, repo, lock string) (*workbench.Environment, error) {
	e, err := b.Book.Environment(ctx, repo, lock)
	return e, ofBook(err)
}

func (b marked) KeepEnvironment(ctx context.Context, repo, lock string, e workbench.Environment) error {
	return ofBook(b.Book.KeepEnvironment(ctx, repo, lock, e))
}

func (b marked) Counts(ctx context.Context) (Counts, error) {
	c, err := b.Book.Counts(ctx)
	return c, ofBook(err)
}

// unwritten says that a task could not be written. That is no task's fault: the folder waits for
// somebody who mends it.
type unwritten struct{ why error }

// Error says which task could not be written, and why.
func (e *unwritten) Error() string { return e.why.Error() }

// Unwrap gives why.
func (e *unwritten) Unwrap() error { return e.why }

// maxTries is how often something is tried that fails for no reason that passes by itself.
const maxTries = 3

// pauseOf doubles from a second to a minute.
func pauseOf(tries int) time.Duration { return min(time.Second<<min(tries-1, 10), time.Minute) }

// repeats reports whether trouble comes again however often it is tried.
func repeats(err error) bool {
	_, refused := errors.AsType[*llm.Refused](err)
	_, malformed := errors.AsType[*llm.Malformed](err) // it is kept, as all answers are
	return refused || malformed
}

// attempt does f again while the outside keeps it from being done.
func (m *Miner) attempt(ctx context.Context, p *prBudget, f func(ctx context.Context) error) error {
	ctx, over := m.working(ctx, p.ref.String())
	defer over()
	for tries, waits := 1, 0; ; {
		err := f(ctx)
		if err == nil || ctx.Err() != nil || reason.Of(err) != nil || done(err) || ours(err) || errors.Is(err, errPerTask) {
			return err
		}
		pause := &tries
		if m.passes(err) {
			waits++
			pause = &waits
		} else if tries >= maxTries || repeats(err) {
			return err
		}
		m.o.Log.Warn("mining", "pull", p.ref.String(), "try", tries, "error", err)
		if err := m.patience(ctx, err, *pause); err != nil {
			return err
		}
		waiting.Because(ctx, nil) // most of f may go well by now
		if pause == &tries {
			tries++
		}
	}
}

// passes reports whether trouble goes away without anybody's doing about the pull request.
func (m *Miner) passes(err error) bool {
	_, paused := errors.AsType[*github.Paused](err)
	_, away := errors.AsType[*extract.Unavailable](err)
	_, busy := errors.AsType[*llm.Unavailable](err)
	if refused, ok := errors.AsType[*llm.Refused](err); ok {
		// The provider does not take the key, or does not have the model: whatever is asked.
		busy = refused.Status == http.StatusUnauthorized || refused.Status == http.StatusNotFound
	}
	_, folder := errors.AsType[*unwritten](err)
	here := folder || errors.Is(err, git.ErrMissing) || errors.Is(err, syscall.ENOSPC) // for somebody to mend
	return paused || away || busy || here || errors.Is(err, llm.ErrBudget) || m.o.Waitable != nil && m.o.Waitable(err)
}

// patience waits until something is worth another try, and says so in the status. The status goes
// on saying so: whoever tries again hears first that it goes on.
func (m *Miner) patience(ctx context.Context, err error, tries int) error {
	pause := pauseOf(tries)
	if p, ok := errors.AsType[*github.Paused](err); ok {
		pause = max(time.Until(p.Until), time.Second)
	} else if u, ok := errors.AsType[*llm.Unavailable](err); ok {
		pause = max(pause, u.RetryAfter)
	} else if b, ok := errors.AsType[*archive.Busy](err); ok {
		pause = max(pause, b.After)
	}
	defer m.spent.since(onWaits, time.Now())
	waiting.Because(ctx, err)
	m.o.Log.Info("mining waits", "for", pause.Round(time.Second), "why", err)
	return clock.Sleep(ctx, pause)
}
