package tryrounds

import (
	"cmp"
	"slices"
	"time"

	"github.com/assayd/assayd/runtime/judge"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/judge/scoring"
	"github.com/assayd/assayd/runtime/task"
)

// OfTry are the rounds of one try of a trial.
func OfTry(subs []round.Submission, try int) []round.Submission {
	return slices.DeleteFunc(slices.Clone(subs), func(s round.Submission) bool { return s.Try != try })
}

// Extension is the time that a user gave a try beyond what its spec declares. What is reported of the trial is what
// it had come to at the declared deadline; what it came to later stands beside.
type Extension struct {
	Declared time.Time // the deadline by the spec
	Taken    bool      // the tree at that time is taken, or it is too late to
	Round    string    `json:",omitempty"` // that has it; "" = none
	Passed   bool      `json:",omitempty"` // the agent was at work when that time was over, as far as the daemon knows
	Outage   string    `json:",omitempty"` // as State.Outage, at that time
	Broke    bool      `json:",omitempty"` // State.Failure is of the time beyond
}

// Counted are the rounds of a try that the numbers of a trial come from, and those of the judge's own: of an extended
// trial those until the declared deadline. ended is when its agent did. Where all count it is subs itself: of thousands
// of trials each copy would be felt.
func Counted(subs []round.Submission, try int, x *Extension, ended time.Time) []round.Submission {
	not := func(o round.Submission) bool { return o.Try != try || x.Beyond(o, ended) }
	if !slices.ContainsFunc(subs, not) {
		return slices.Clip(subs)
	}
	return slices.DeleteFunc(slices.Clone(subs), not)
}

// Beyond reports whether a round was made beyond the declared deadline, by an agent that ended at a time; never without an
// extension. It goes by when the whole of an archive was there. The tree of an agent that ended in its declared time is
// taken later.
func (x *Extension) Beyond(o round.Submission, ended time.Time) bool {
	switch {
	case x == nil || o.Kind.Internal() || o.Round == x.Round:
		return false
	case o.Kind == round.KindFinal:
		return ended.After(x.Declared)
	case o.AcceptedAt.IsZero():
		return !o.ReservedAt.Before(x.Declared)
	}
	return !o.AcceptedAt.Before(x.Declared)
}

// Resolves reports whether what counts is a pass of everything.
func Resolves(counts *round.Report, ok bool) bool {
	return ok && counts != nil && counts.Valid && !counts.Tampered && counts.PassRate == 1
}

// Unusable says why nothing that was judged counts: what the report has to say that does, if
// it is not valid, else the last round where no round is. "" = something counts, or there is
// no round.
func Unusable(subs []round.Submission, counts *round.Report, ok bool) string {
	switch {
	case ok && counts.Valid || !ok && len(subs) == 0:
		return ""
	case !ok:
		counts = subs[len(subs)-1].Report
	}
	if counts == nil || counts.Tampered || counts.Valid {
		return ""
	}
	return cmp.Or(counts.Problem, "the grader calls it invalid")
}

// Unjudgeable reports whether a task does not say how it is judged.
func Unjudgeable(t task.Task) bool {
	j := t.Judge
	return j.Command.Empty() && !j.Staged() && j.Game == "" && !scoring.ByCommands(t)
}

// LastFailed reports whether the machinery of the judge failed on the last round: what
// the trial is worth is not known then.
func LastFailed(subs []round.Submission) bool {
	if len(subs) == 0 {
		return false
	}
	r := subs[len(subs)-1].Report
	return r != nil && r.Status == round.StatusError
}

// NeverRan reports whether in no round the judge command could even be started.
func NeverRan(subs []round.Submission) bool {
	for _, s := range subs {
		if s.Report == nil || !s.Report.NotRun {
			return false
		}
	}
	return len(subs) > 0
}

// HasPrivate reports whether a private set decides what a trial is worth. A game has no
// archive that it could judge.
func HasPrivate(t task.Task) bool { return t.Private != nil && t.Judge.Game == "" }

// ForPrivate are the rounds of a try whose archives the private set judges: the best
// one, and the last snapshot, the round named final, if that is another tree.
func ForPrivate(t task.Task, final string, subs []round.Submission) []round.Submission {
	best, ok := scoring.Best(t.Judge, subs)
	if !ok || !HasPrivate(t) {
		return nil
	}
	rounds := []round.Submission{best}
	i := slices.IndexFunc(subs, func(o round.Submission) bool { return o.Round == final && o.State == round.StateJudged })
	if i >= 0 && subs[i].Archive != best.Archive {
		rounds = append(rounds, subs[i])
	}
	return rounds
}

// Privately finds what the private set said of a round; nil when it did not.
func Privately(subs []round.Submission, name string) *round.Report {
	for _, sub := range subs {
		if sub.Kind == round.KindPrivate && sub.Key == judge.PrivateKey(name) && sub.State == round.StateJudged {
			return sub.Report
		}
	}
	return nil
}

// WantsMixed reports whether a task has its deciding rounds judged again.
func WantsMixed(t task.Task) bool { return t.Judge.Decoys > 0 && t.Judge.Game == "" }

// ForMixed are the rounds of a try that are judged again: the best one, and the first
// with full marks if that is another tree.
func ForMixed(t task.Task, subs []round.Submission) []round.Submission {
	best, ok := scoring.Best(t.Judge, subs)
	if !ok {
		return nil
	}
	rounds := []round.Submission{best}
	first := slices.IndexFunc(subs, func(o round.Submission) bool {
		return !o.Kind.Internal() && o.State == round.StateJudged && Resolves(o.Report, true)
	})
	if first >= 0 && subs[first].Archive != best.Archive {
		rounds = append(rounds, subs[first])
	}
	return rounds
}
