package scoring

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/assayd/assayd/runtime/judge/parser"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/task"
)

// Unusable says why a report tells nothing about any test: the tests could not be run, or
// nothing of what they printed was understood. It is "" for all others, however bad.
func Unusable(r round.Report) string {
	failing := slices.ContainsFunc(r.Tests, func(t parser.Test) bool { return !passes(t) && t.Status != parser.Skipped })
	if r.NotRun || r.Status == round.StatusError || r.Status == round.StatusInvalid && !failing {
		return cmp.Or(r.Problem, "the output holds no result that the parser understands")
	}
	return ""
}

// Silent is Unusable for a judge that may be at fault: it also says why where none of the
// expected tests was seen, and no other.
func Silent(r round.Report) string {
	if r.Unseen && !r.Tampered {
		return strings.TrimPrefix(r.Problem+"; none of the expected tests was seen", "; ")
	}
	return Unusable(r)
}

// Sane holds the report of an untouched tree against what the task says of it: all tests of
// fail_to_pass have to fail, be it that they are not there yet, and all of pass_to_pass have
// to pass. It returns the first that does not do so, in words, or "". Without such lists not
// everything may pass. Of a report that is Unusable it knows nothing.
func Sane(t task.Task, r round.Report) (offence string) {
	declared := slices.Concat(t.FailToPass, t.PassToPass)
	seen := worstOf(named(r.Tests, declared, nil), declared)
	for _, name := range t.FailToPass {
		if test, ok := seen[name]; ok && passes(test) {
			return fmt.Sprintf("%s of fail_to_pass passes before any change", name)
		}
	}
	for _, name := range t.PassToPass {
		test, ok := seen[name]
		switch {
		case !ok:
			return fmt.Sprintf("%s of pass_to_pass is not seen before any change", name)
		case !passes(test):
			return fmt.Sprintf("%s of pass_to_pass %s before any change", name, withReason(test))
		}
	}
	if len(t.FailToPass)+len(t.PassToPass) == 0 && r.Valid && r.PassRate == 1 {
		return "all tests pass before any change"
	}
	return ""
}

func passes(t parser.Test) bool { return t.Status == parser.Passed }

// withReason tells how a test came out, with the first words of why.
func withReason(t parser.Test) string {
	how := "fails"
	if t.Status == parser.Skipped {
		how = "is skipped"
	}
	if reason := round.Clip(t.Message, 200); reason != "" {
		how += " (" + reason + ")"
	}
	return how
}
