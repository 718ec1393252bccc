package evaluate

import (
	"context"
	"fmt"
	"sync"

	"github.com/assayd/assayd/runtime/trial"
	"github.com/assayd/assayd/runtime/trial/reference"
)

// Sane is trial.Host.Sane: an execution asks once what judging the untouched tree of a task
// shows, whichever of its trials comes first, and keeps the answer. Trouble of the machinery
// is no answer.
func (r *Evaluator) Sane(ctx context.Context, s trial.State, key string, ask func() (reference.Sanity, error)) (answer reference.Sanity, err error) {
	key = fmt.Sprintf("sanity/%s/e%d/%s", s.Spec, s.Execution, key)
	release, err := r.turns.take(ctx, key)
	if err != nil {
		return answer, err
	}
	defer release()
	if found, err := r.recall(ctx, key, &answer); err != nil || found {
		return answer, err
	}
	if answer, err = ask(); err != nil || answer.Trouble != "" {
		return answer, err
	}
	return answer, r.remember(ctx, key, answer)
}

// keyedOnce lets one at a time do what has a key.
type keyedOnce struct {
	mu   sync.Mutex
	held map[string]*keyedTurn
}

type keyedTurn struct {
	token chan struct{}
	users int
}

// take waits for the turn of a key. Whoever has it must release it.
func (t *keyedOnce) take(ctx context.Context, key string) (release func(), err error) {
	t.mu.Lock()
	if t.held == nil {
		t.held = map[string]*keyedTurn{}
	}
	mine := t.held[key]
	if mine == nil {
		mine = &keyedTurn{token: make(chan struct{}, 1)}
		t.held[key] = mine
	}
	mine.users++
	t.mu.Unlock()
	leave := func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if mine.users--; mine.users == 0 {
			delete(t.held, key)
		}
	}
	select {
	case mine.token <- struct{}{}:
		return func() { <-mine.token; leave() }, nil
	case <-ctx.Done():
		leave()
		return nil, context.Cause(ctx)
	}
}
