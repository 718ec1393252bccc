package tryrounds

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/task"
)

func judged(name, archive string, rate float64) round.Submission {
	return round.Submission{
		Try: 1, Kind: round.KindAgent, Round: name, State: round.StateJudged, Archive: archive,
		Report: &round.Report{Status: round.StatusOK, Valid: true, PassRate: rate},
	}
}

func names(subs []round.Submission) (names []string) {
	for _, sub := range subs {
		names = append(names, sub.Round)
	}
	return names
}

// Each tree is judged once more only once.
func TestTheBestRoundAndAnotherTreeAreJudgedOnceMore(t *testing.T) {
	of := task.Task{Private: &task.Private{}}
	low, best, same, last := judged("agent-1", "a", 0.5), judged("agent-2", "b", 1), judged("final-1", "b", 1), judged("final-1", "c", 0.7)
	for name, c := range map[string]struct {
		got, want []string
	}{
		"the last tree is the best":    {names(ForPrivate(of, "final-1", []round.Submission{low, best, same})), []string{"agent-2"}},
		"the last tree is another":     {names(ForPrivate(of, "final-1", []round.Submission{low, best, last})), []string{"agent-2", "final-1"}},
		"no private set":               {names(ForPrivate(task.Task{}, "final-1", []round.Submission{low, best, last})), nil},
		"no round":                     {names(ForMixed(of, nil)), nil},
		"one round has full marks":     {names(ForMixed(of, []round.Submission{low, best, same})), []string{"agent-2"}},
		"no round has, and one counts": {names(ForMixed(of, []round.Submission{low})), []string{"agent-1"}},
	} {
		if diff := cmp.Diff(c.want, c.got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestRoundsBeyondTheDeclaredDeadlineDoNotCount(t *testing.T) {
	declared := time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)
	early, late, other := judged("agent-1", "a", 1), judged("agent-2", "b", 1), judged("agent-1", "c", 1)
	early.AcceptedAt, late.AcceptedAt, other.Try = declared.Add(-time.Second), declared, 2
	final := judged("final-1", "d", 1)
	final.Kind = round.KindFinal
	all := []round.Submission{early, late, other, final}
	x := &Extension{Declared: declared}
	for name, c := range map[string]struct {
		x     *Extension
		ended time.Time
		want  []string
	}{
		"not extended":                  {nil, declared.Add(time.Hour), []string{"agent-1", "agent-2", "final-1"}},
		"the agent went on":             {x, declared.Add(time.Hour), []string{"agent-1"}},
		"the agent ended before":        {x, declared.Add(-time.Minute), []string{"agent-1", "final-1"}},
		"the last tree is that of then": {&Extension{Declared: declared, Round: "final-1"}, declared.Add(time.Hour), []string{"agent-1", "final-1"}},
	} {
		if diff := cmp.Diff(c.want, names(Counted(all, 1, c.x, c.ended))); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestOnlyAWholePassResolves(t *testing.T) {
	pass, part, forged, invalid := judged("r", "a", 1).Report, judged("r", "a", 0.9).Report, judged("r", "a", 1).Report, judged("r", "a", 1).Report
	forged.Tampered, invalid.Valid = true, false
	for report, want := range map[*round.Report]bool{pass: true, part: false, forged: false, invalid: false, nil: false} {
		if Resolves(report, true) != want || Resolves(report, false) {
			t.Errorf("%+v resolves %t", report, !want)
		}
	}
}
