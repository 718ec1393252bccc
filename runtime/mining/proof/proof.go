package proof

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/mining/diff"
	"github.com/assayd/assayd/runtime/mining/reason"
	"github.com/assayd/assayd/runtime/patch"
	"github.com/assayd/assayd/runtime/task"
)

// Run has a submission judged once in a fresh container: the task's tests over the base tree
// with a patch applied, nil = untouched. Equal calls are repetitions, each with a run of its
// own: an answer must never be that of an earlier call. A patch that does not apply is an
// error that wraps a *patch.NotApplied. It may be called twice at once.
type Run func(ctx context.Context, t task.Task, patch []byte) (round.Report, error)

// Case is a task to be proved.
type Case struct {
	Task    task.Task // with the hidden tests and the command that runs them; its lists are not looked at
	Fix     []byte    // unified diff in Git's format
	Repeats int       // judgings of each side; below 1 = 3

	// Tests may fail before because they do not build where the Statement has all names that
	// were missing. Where nobody knows which were, they may if the statement has an Interface.
	Statement string
	Interface bool

	// Printed returns what the judge command printed, for the names that were missing; nil =
	// only what the report itself says is known.
	Printed func(ctx context.Context, r round.Report) (string, error)
}

// Proof is what the judgings of a task have shown. All lists are sorted.
type Proof struct {
	FailToPass []string `json:"fail_to_pass"`
	PassToPass []string `json:"pass_to_pass"`
	Flaky      []string `json:"flaky"`     // came out in different ways; in neither list
	Textual    []string `json:"textual"`   // look at the text of the code only; in neither list
	NeverRan   []string `json:"never_ran"` // of FailToPass, which never ran on the untouched tree
	Missing    []string `json:"missing"`   // names that the untouched tree lacks, where tests do not build on it

	// A large fix is not judged without each hunk alone: of neighbours without which, all of
	// them, a test fails one counts as covered, and the others do not.
	Hunks     int      `json:"hunks"`     // of the fix that change what it does
	Covered   int      `json:"covered"`   // of those, without which a test fails
	Stopping  int      `json:"stopping"`  // of those that are covered, without which something merely does not build
	Uncovered []string `json:"uncovered"` // the others, as path:line after the fix

	Runs    int     `json:"runs"`    // judgings in all
	Seconds float64 `json:"seconds"` // the longest time of the judge command on either side
}

// Codes of rejections.
const (
	DoesNotApply    = "does_not_apply"    // the fix or the hidden tests
	NotFound        = "not_found"         // the command that runs the tests, by code 126 or 127
	NoTestsRan      = "no_tests_ran"      // with the fix, or only others than the hidden ones
	Timeout         = "timeout"           // on either side
	Tampered        = "tampered"          // a tripwire came out wrong
	Unusable        = "unusable"          // the judge takes no such run for a success
	PassesBefore    = "passes_before"     // nothing fails before
	FailsAfter      = "fails_after"       // nothing that fails before passes after
	Flaky           = "flaky"             // all that would do
	CollectionError = "collection_error"  // tests do not build before, for names that the statement lacks
	TestsGrepSource = "tests_grep_source" // the tests look at text only
	Uncovered       = "uncovered"         // no part of the fix that does something is needed
	FixNotNeeded    = "fix_not_needed"    // the tests pass without all that is covered
)

// Prove judges a case until it is clear that it is sound, or why not. A case that is not is a
// *reason.Rejected with one of the codes above, and what is known by then is returned with it.
// All other errors are trouble with judging, and say nothing of the case.
func Prove(ctx context.Context, c Case, run Run) (Proof, error) {
	p := &prover{c: c, run: run}
	p.c.Task.FailToPass, p.c.Task.PassToPass = nil, nil
	if p.c.Repeats < 1 {
		p.c.Repeats = 3
	}
	for _, step := range []func(context.Context) error{p.take, p.repeat, p.built, p.looks, p.cover, p.confirm} {
		if err := step(ctx); err != nil {
			return p.finished(), err
		}
	}
	return p.finished(), nil
}

// The two sides, in words.
const (
	withFix = "with the fix"
	onBase  = "on the untouched tree"
)

// prover is a proof in the making.
type prover struct {
	c     Case
	run   Run
	files []diff.File // of the fix
	proof Proof

	before, after []seen
	unbuilt       []string // of the tests that fail before, those that do not build
	named         bool     // the statement names what those need
}

// finished is the proof with lists that are sorted and never nil.
func (p *prover) finished() Proof {
	p.proof.NeverRan = kept(p.proof.FailToPass, func(name string) bool {
		return !slices.ContainsFunc(p.before, func(s seen) bool { return s.way(name) != absent })
	})
	for _, list := range []*[]string{
		&p.proof.FailToPass, &p.proof.PassToPass, &p.proof.Flaky, &p.proof.Textual, &p.proof.NeverRan, &p.proof.Missing, &p.proof.Uncovered,
	} {
		if *list == nil {
			*list = []string{}
		}
	}
	for _, list := range []*[]string{&p.proof.FailToPass, &p.proof.PassToPass, &p.proof.Flaky, &p.proof.Textual, &p.proof.NeverRan} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	return p.proof
}

// take takes the fix apart.
func (p *prover) take(context.Context) error {
	_, err := patch.Paths(p.c.Fix)
	if refused, ok := errors.AsType[*patch.NotApplied](err); ok {
		return reason.Reject(DoesNotApply, "the fix: %s", refused.Words)
	}
	if err != nil {
		return reason.Reject(DoesNotApply, "the fix: %v", err)
	}
	if p.files, err = diff.Read(p.c.Fix); err != nil {
		return reason.Reject(DoesNotApply, "the fix: %v", err)
	}
	return nil
}

// repeat judges both sides, by turns, and makes the lists of how the tests came out.
func (p *prover) repeat(ctx context.Context) error {
	var jobs []job
	for range p.c.Repeats {
		jobs = append(jobs, job{p.c.Task, nil}, job{p.c.Task, p.c.Fix})
	}
	all, err := p.judge(ctx, jobs)
	if err != nil {
		return err
	}
	for i := 0; i < len(all); i += 2 {
		p.before, p.after = append(p.before, all[i]), append(p.after, all[i+1])
	}
	for _, s := range p.after {
		if err := s.fault(withFix); err != nil {
			return err
		}
		if !s.ran() {
			return reason.Reject(NoTestsRan, "with the fix%s", behind(s.report.Problem))
		}
	}
	for _, s := range p.before {
		if err := s.fault(onBase); err != nil {
			return err
		}
	}
	for _, s := range all {
		p.proof.Seconds = max(p.proof.Seconds, float64(s.report.JudgeMS)/1000)
	}
	return p.lists()
}

// lists sorts the tests into lists by how they came out on both sides.
func (p *prover) lists() error {
	t := tableOf(p.before, p.after)
	p.proof.FailToPass, p.proof.PassToPass, p.proof.Flaky = t.failToPass, t.passToPass, t.flaky
	switch {
	case len(t.failToPass) > 0:
	case len(t.turning) > 0:
		return reason.Reject(Flaky, "%s", some(t.turning))
	case len(t.failing) == 0 && !p.ranHidden():
		return reason.Reject(NoTestsRan, "none of the hidden ones was seen: the %d that pass before and after the fix are others", len(t.passToPass))
	case len(t.failing) == 0:
		return reason.Reject(PassesBefore, "%d tests pass before and after the fix", len(t.passToPass))
	default:
		return reason.Reject(FailsAfter, "%s%s", some(t.failing), behind(p.after[0].why(t.failing)))
	}
	for _, s := range p.after {
		if s.report.Status != round.StatusOK {
			return reason.Reject(Unusable, "with the fix%s", behind(s.report.Problem))
		}
	}
	return nil
}

// confirm judges both sides once more as agents are judged, by the lists. A test that comes
// out another way than ever before is flaky, and all is judged again without it.
func (p *prover) confirm(ctx context.Context) error {
	const most = 3
	for try := 1; ; try++ {
		t := p.c.Task
		t.FailToPass, t.PassToPass = slices.Sorted(slices.Values(p.proof.FailToPass)), slices.Sorted(slices.Values(p.proof.PassToPass))
		both, err := p.judge(ctx, []job{{t, p.c.Fix}, {t, nil}})
		if err != nil {
			return err
		}
		fixed, untouched := both[0], both[1]
		if err := cmp.Or(fixed.fault(withFix), untouched.fault(onBase)); err != nil {
			return err
		}
		odd := p.odd(fixed, untouched)
		if len(odd) == 0 {
			switch r := fixed.report; {
			case r.Status != round.StatusOK || !r.Valid || r.PassRate != 1:
				return reason.Reject(Unusable, "with the fix and the lists of tests%s", behind(fixed.why(t.FailToPass)))
			case untouched.passes():
				return reason.Reject(PassesBefore, "the judge takes the untouched tree for a success")
			}
			return nil
		}
		p.drop(&p.proof.Flaky, odd)
		if len(p.proof.FailToPass) == 0 || try == most {
			return reason.Reject(Flaky, "%s", some(odd))
		}
	}
}

// odd are the tests of the lists that came out another way than the lists say.
func (p *prover) odd(fixed, untouched seen) (names []string) {
	for _, name := range p.proof.FailToPass {
		if fixed.way(name) != passed || untouched.way(name) == passed {
			names = append(names, name)
		}
	}
	for _, name := range p.proof.PassToPass {
		if fixed.way(name) != passed || untouched.way(name) != passed {
			names = append(names, name)
		}
	}
	return names
}

// drop takes tests out of the lists, and notes them in another one.
func (p *prover) drop(in *[]string, names []string) {
	gone := func(name string) bool { return slices.Contains(names, name) }
	p.proof.FailToPass = slices.DeleteFunc(p.proof.FailToPass, gone)
	p.proof.PassToPass = slices.DeleteFunc(p.proof.PassToPass, gone)
	*in = append(*in, names...)
}

// behind puts words behind others.
func behind(words string) string {
	if words == "" {
		return ""
	}
	return fmt.Sprintf(": %s", clip(words, 1000))
}
