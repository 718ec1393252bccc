package judge

import (
	"context"
	"errors"
	"fmt"

	"github.com/assayd/assayd/runtime/judge/round"
)

// Abandon gives every accepted round of the try, and of those before it, that has no
// verdict yet a last one: StatusError, with the reason in words. It ends what is running,
// and nothing more is accepted in the try, of any kind. Games keep their peaks. It needs no session, and to call it
// again is fine; after an error it has to be. Rounds that are judged are left as they are.
func (j *Judge) Abandon(ctx context.Context, trial string, try int, reason string) error {
	j.mu.Lock()
	if s := j.sessions[trial]; s != nil && s.Try <= try && !s.isOver() {
		close(s.over)
	}
	j.mu.Unlock()
	if err := j.games.Close(ctx, trial, try); err != nil {
		return err
	}
	var all []round.Submission
	// Not by Submissions: a round that is just being accepted is waited for.
	_, err := j.opts.Ledger.Reserve(ctx, trial, func(past []round.Submission) (round.Submission, error) {
		all = past
		return round.Submission{}, round.ErrUnchanged
	})
	if err != nil && !errors.Is(err, round.ErrUnchanged) {
		return fmt.Errorf("list submissions of trial %s: %w", trial, err)
	}
	problem := "the trial was over before this round was judged"
	if reason != "" {
		problem += ": " + reason
	}
	var errs []error
	for _, sub := range all {
		switch {
		case sub.Try > try:
		case sub.Kind == round.KindGame && sub.State == round.StateRunning:
			errs = append(errs, j.games.Orphaned(ctx, sub, problem))
		case sub.State == round.StateQueued || sub.State == round.StateRunning:
			errs = append(errs, j.publish(ctx, sub, round.Failed(problem)))
		}
	}
	return errors.Join(errs...)
}

// whileWanted returns a context that ends when the session's rounds are abandoned.
func (s *session) whileWanted(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-s.over:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}
