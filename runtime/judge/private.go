package judge

import (
	"context"
	"errors"
	"fmt"
)

// Private has the archive of a submission judged by the private set, once: a repeated call
// returns what the first one made. The round is in the queue like any other; Wait waits for
// its verdict. No agent ever sees it.
func (j *Judge) Private(ctx context.Context, trial string, of Submission) (Submission, error) {
	s, err := j.admit(trial, KindPrivate)
	if err != nil {
		return Submission{}, err
	}
	if s.private == nil {
		return Submission{}, fmt.Errorf("judge round %s of trial %s by the private set: the task has none", of.Round, trial)
	}
	var repeated *Submission
	o := offer{id: newID(), kind: KindPrivate, key: PrivateKey(of.Round), now: s.Line.Now()}
	sub, err := j.opts.Ledger.Reserve(ctx, trial, func(past []Submission) (Submission, error) {
		next, old, err := decide(s.Session, o, past)
		if old != nil {
			repeated = old
			return Submission{}, errUnchanged
		}
		// Nothing has to arrive any more: it is accepted as it is reserved.
		next.State, next.AcceptedAt = StateQueued, o.now
		next.Archive, next.Bytes, next.Dropped = of.Archive, of.Bytes, of.Dropped
		return next, err
	})
	if errors.Is(err, errUnchanged) {
		return *repeated, nil
	}
	if err != nil {
		return Submission{}, fmt.Errorf("reserve a private round of trial %s: %w", trial, err)
	}
	j.queue.take(trial, true)
	j.queue.push(trial, sub.ID)
	return sub, nil
}

// PrivateKey is the idempotency key of what the private set says of a round.
func PrivateKey(round string) string { return "private/" + round }
