package scoring

import (
	"cmp"

	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/task"
)

// Best returns the round that counts by the task's selection, out of judged rounds in
// order of reservation. Rounds that are invalid, tampered with, or failed by the machinery,
// never count, nor does what the private set or the untouched tree says; when no other is left there is no best.
// Of equals the earliest wins. Where a selection by score finds none, the pass rate decides.
func Best(t task.Judge, rounds []round.Submission) (round.Submission, bool) {
	best := bestAt(&t, rounds)
	if best < 0 && !byRate(&t) {
		t.Select = "pass_rate_first" // nothing has a score: what passed is all there is to go by
		best = bestAt(&t, rounds)
	}
	if best < 0 {
		return round.Submission{}, false
	}
	return rounds[best], true
}

// bestAt is the index of the round that counts; -1 = none does.
func bestAt(t *task.Judge, rounds []round.Submission) int {
	best := -1
	for i := range rounds {
		if counts(t, &rounds[i]) && (best < 0 || compare(t, rounds[i].Report, rounds[best].Report) > 0) {
			best = i
		}
	}
	return best
}

func counts(t *task.Judge, s *round.Submission) bool {
	r := s.Report
	if s.State != round.StateJudged || s.Kind.Internal() || r == nil || !r.Valid || r.Tampered {
		return false
	}
	if r.Status != round.StatusOK && r.Status != round.StatusTimeout {
		return false
	}
	return byRate(t) || r.Score != nil
}

func byRate(t *task.Judge) bool {
	return t.Select != "score_first" && t.Select != "valid_then_score"
}

// compare orders reports by worth. The selections by score break ties by the pass rate,
// the one by pass rate breaks them by score at every rate.
func compare(t *task.Judge, a, b *round.Report) int {
	rate := cmp.Compare(a.PassRate, b.PassRate)
	score := compareScores(t, a.Score, b.Score)
	if byRate(t) {
		return cmp.Or(rate, score)
	}
	return cmp.Or(score, rate)
}

func compareScores(t *task.Judge, a, b *float64) int {
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return -1
	case b == nil:
		return 1
	case t.Direction == "minimize":
		return cmp.Compare(*b, *a)
	}
	return cmp.Compare(*a, *b)
}
