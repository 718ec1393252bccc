package reference

import (
	"slices"

	"github.com/assayd/assayd/runtime/judge/parser"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/judge/scoring"
	"github.com/assayd/assayd/runtime/task"
)

// Bounds on the names of a reference run; one that shows more is none.
const (
	maxTests = 20_000
	maxBytes = 1 << 20
)

// Reference says what judging a task's own solution has shown.
type Reference struct {
	Tests    []string `json:"tests,omitempty"`    // that passed, in order; empty = the solution does not pass, or not all names are known
	Passed   bool     `json:"passed,omitempty"`   // every test
	Expected []string `json:"expected,omitempty"` // tests whose failure is expected, and counts as a pass
	Problem  string   `json:"problem,omitempty"`  // why there are no names
	Unusable bool     `json:"unusable,omitempty"` // nothing could be judged at all: the fault may be the judge's
}

// Wants reports whether a reference run could be the manifest of the task.
func Wants(t task.Task) bool {
	_, source := scoring.Manifest(t, nil)
	return source == scoring.NoManifest && scoring.NamesTests(t.Judge.Parser) && t.Judge.Game == ""
}

// Of says what the report on a task's solution comes to.
func Of(r round.Report) (known Reference) {
	size, shown := 0, []string{}
	for _, t := range r.Tests {
		if t.Status == parser.Skipped {
			continue
		}
		shown = append(shown, t.Name)
		size += len(t.Name)
	}
	switch {
	case scoring.Unusable(r) != "":
		known.Unusable, known.Problem = true, scoring.Unusable(r)
	case r.Status != round.StatusOK || !r.Valid || r.PassRate < 1:
		known.Problem = "the task's own solution does not pass: " + r.Summary
	// A report that does not hold them all says nothing about the rest.
	case len(shown) != r.TotalTests || len(shown) == 0 || len(shown) > maxTests || size > maxBytes:
		known.Passed, known.Problem, known.Expected = true, "the names of the tests are not known", r.Expected
	default:
		known.Passed, known.Expected = true, r.Expected
		known.Tests = shown
	}
	return known
}

// Silent reports whether no round of a try tells anything about any test, by no trick of the agent, as
// far as reports without their tests say; last is the last of those rounds.
func Silent(subs []round.Submission) (last round.Submission, silent bool) {
	subs = slices.DeleteFunc(slices.Clone(subs), func(o round.Submission) bool { return o.Kind.Internal() || o.State != round.StateJudged })
	for _, o := range subs {
		if r := o.Report; r == nil || r.Status == round.StatusError || r.Tampered || scoring.Silent(*r) == "" {
			return last, false
		}
	}
	if len(subs) == 0 {
		return last, false
	}
	return subs[len(subs)-1], true
}

// Sanity says what judging an untouched tree has shown; the zero value is a sound task.
type Sanity struct {
	Offence string // the first test that is not as the task says
	NotRun  string // why the tests could not be run
	Trouble string // what of the machinery failed; worth another try
}

// SanityOf says what the report on a task's untouched tree comes to.
func SanityOf(t task.Task, r round.Report) (out Sanity) {
	switch {
	case r.Status == round.StatusError:
		out.Trouble = "the tests were not run on the untouched tree: " + r.Problem
	case scoring.Unusable(r) != "":
		out.NotRun = scoring.Unusable(r)
	default:
		out.Offence = scoring.Sane(t, r)
	}
	return out
}
