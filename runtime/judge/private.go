package judge

import (
	"context"
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
	return j.again(ctx, trial, of, offer{kind: KindPrivate, key: PrivateKey(of.Round)}, "")
}

// PrivateKey is the idempotency key of what the private set says of a round.
func PrivateKey(round string) string { return "private/" + round }
