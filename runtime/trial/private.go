package trial

import (
	"context"
	"slices"

	"github.com/assayd/assayd/runtime/fault"
	"github.com/assayd/assayd/runtime/judge"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/judge/scoring"
	"github.com/assayd/assayd/runtime/task"
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
	for _, of := range both(s, subs, privateRounds) {
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
	if wantsMixed(s.Cell.Task) {
		return Mixed
	}
	return Verdict
}

// hasPrivate reports whether a private set decides what a trial is worth. A game has no
// archive that it could judge.
func hasPrivate(t task.Task) bool { return t.Private != nil && t.Judge.Game == "" }

// privateRounds are the rounds of a try whose archives the private set judges: the best
// one, and the last snapshot if that is another tree.
func privateRounds(s State, subs []round.Submission) []round.Submission {
	best, ok := scoring.Best(s.Cell.Task.Judge, subs)
	if !ok || !hasPrivate(s.Cell.Task) {
		return nil
	}
	rounds := []round.Submission{best}
	i := slices.IndexFunc(subs, func(o round.Submission) bool { return o.Round == s.FinalRound && o.State == round.StateJudged })
	if i >= 0 && subs[i].Archive != best.Archive {
		rounds = append(rounds, subs[i])
	}
	return rounds
}

// privately finds what the private set said of a round; nil when it did not.
func privately(subs []round.Submission, name string) *round.Report {
	for _, sub := range subs {
		if sub.Kind == round.KindPrivate && sub.Key == judge.PrivateKey(name) && sub.State == round.StateJudged {
			return sub.Report
		}
	}
	return nil
}

// privateRecord tells of the private set in the verdict; nil when it says nothing.
func privateRecord(s State, subs []round.Submission) *PrivateSet {
	var record *PrivateSet
	for i, of := range privateRounds(s, subs) {
		r := privately(subs, of.Round)
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
