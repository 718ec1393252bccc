package evaluate

import (
	"context"
	"fmt"

	"github.com/assayd/assayd/runtime/trial"
	"github.com/assayd/assayd/runtime/trial/reference"
)

// Sane is trial.Host.Sane: an execution asks once what judging the untouched tree of a task
// shows, whichever of its trials comes first, and keeps the answer. Trouble of the machinery
// is no answer.
func (r *Evaluator) Sane(ctx context.Context, s trial.State, key string, ask func() (reference.Sanity, error)) (answer reference.Sanity, err error) {
	key = fmt.Sprintf("sanity/%s/e%d/%s", s.Spec, s.Execution, key)
	release, err := r.turns.Lock(ctx, key)
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
