package trial

import (
	"context"

	"github.com/assayd/assayd/runtime/fault"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/trial/tryrounds"
)

// private has the best round and the last snapshot judged once more, by the tests that
// nobody was ever told about. Where no round is valid there is nothing to ask about.
func (m *Machine) private(ctx context.Context, s State) (State, []Effect, error) {
	m.openSession(s) // after a restart
	m.host.Judge.Close(s.ID)
	subs, err := m.host.Ledger.Submissions(ctx, s.ID)
	if err != nil {
		return s, nil, err
	}
	var asked []round.Submission
	for _, of := range both(s, subs, func(s State, subs []round.Submission) []round.Submission {
		return tryrounds.ForPrivate(s.Cell.Task, s.FinalRound, subs)
	}) {
		sub, err := m.host.Judge.Private(ctx, s.ID, of)
		if err != nil {
			return s, nil, err
		}
		asked = append(asked, sub)
	}
	fault.Reached(fault.PrivateAsked)
	for _, sub := range asked {
		if _, err := m.host.Judge.Wait(ctx, sub.ID); err != nil {
			return s, nil, err
		}
	}
	fault.Reached(fault.PrivateJudged)
	s.Phase = afterPrivate(s)
	return s, nil, nil
}

// afterPrivate is the phase that follows when all rounds are judged.
func afterPrivate(s State) Phase {
	if tryrounds.WantsMixed(s.Cell.Task) {
		return Mixed
	}
	return Verdict
}

// privateRecord tells of the private set in the verdict; nil when it says nothing.
func privateRecord(s State, subs []round.Submission) *PrivateSet {
	var record *PrivateSet
	for i, of := range tryrounds.ForPrivate(s.Cell.Task, s.FinalRound, subs) {
		r := tryrounds.Privately(subs, of.Round)
		switch {
		case r == nil || r.Status == round.StatusError:
		case i == 0:
			record = &PrivateSet{Round: of.Round, Score: scoreOf(r)}
		case record != nil:
			record.Final = new(scoreOf(r))
		}
	}
	return record
}

func scoreOf(r *round.Report) Score {
	return Score{r.Status, r.Valid, r.PassRate, r.Score, r.Score100}
}
