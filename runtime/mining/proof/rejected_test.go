package proof

import (
	"strings"
	"testing"

	"github.com/assayd/assayd/runtime/judge/parser"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/mining/reason"
)

// set changes the outcome of a test in a report.
func set(r *round.Report, name string, status parser.Status) {
	for i := range r.Tests {
		if r.Tests[i].Name == name {
			r.Tests[i].Status = status
		}
	}
}

// end makes a report one of another end.
func end(status round.Status, problem string, more func(r *round.Report)) func(r *round.Report) {
	return func(r *round.Report) {
		r.Status, r.Problem, r.Valid = status, problem, false
		if more != nil {
			more(r)
		}
	}
}

func TestUnsoundTasksAreRejectedForTheirReason(t *testing.T) {
	onBoth := func(do func(r *round.Report)) func(*round.Report, files, string, int) {
		return func(r *round.Report, _ files, _ string, _ int) { do(r) }
	}
	onFix := func(do func(r *round.Report)) func(*round.Report, files, string, int) {
		return func(r *round.Report, f files, _ string, _ int) {
			if adds(f) {
				do(r)
			}
		}
	}
	onBase := func(do func(r *round.Report)) func(*round.Report, files, string, int) {
		return func(r *round.Report, f files, _ string, _ int) {
			if !adds(f) {
				do(r)
			}
		}
	}
	none := func(r *round.Report) { r.Tests = nil }
	luck := func(yes bool) func(*round.Report, files, string, int) {
		return func(r *round.Report, f files, _ string, n int) {
			if adds(f) == yes && n%2 == 0 {
				status := parser.Failed
				if !yes {
					status = parser.Passed
				}
				set(r, testAdd, status)
			}
		}
	}
	grep := func(text string) func(files) parser.Status {
		return when(func(f files) bool { return strings.Contains(f["calc.py"], text) })
	}
	reads := newTest("def test_add():", "    text = open('calc.py').read()", "    assert 'a + b' in text")
	twoPlaces := base()
	twoPlaces["calc.py"] += strings.Repeat("\n# far away\n\n", 5) + "def plus(a, b):\n    return b - a\n"
	for name, s := range map[string]struct {
		code, detail string
		scene        scene
	}{
		"an empty fix":          {DoesNotApply, "empty", scene{c: Case{Fix: []byte("\n")}}},
		"a fix that is no diff": {DoesNotApply, "names no file", scene{c: Case{Fix: []byte("return a + b\n")}}},
		"a fix that leaves":     {DoesNotApply, "not below the tree", scene{c: Case{Fix: []byte("diff --git a/../x b/../x\n--- a/../x\n+++ b/../x\n@@ -1 +1 @@\n-a\n+b\n")}}},
		"a fix for something else": {DoesNotApply, "with the fix: error: patch failed: calc.py", scene{
			c: Case{Fix: []byte("diff --git a/calc.py b/calc.py\n--- a/calc.py\n+++ b/calc.py\n@@ -1 +1 @@\n-what\n+that\n")},
		}},
		"nothing runs with the fix": {NoTestsRan, "no result", scene{world: &fixture{twist: onBoth(end(round.StatusInvalid, "the output holds no result", none))}}},
		"all tests are skipped":     {NoTestsRan, "with the fix", scene{world: &fixture{tests: map[string]func(files) parser.Status{testAdd: always(parser.Skipped)}}}},
		"there is no test":          {NoTestsRan, "with the fix", scene{world: &fixture{tests: map[string]func(files) parser.Status{"x": always("")}}}},
		"nothing fails before":      {PassesBefore, "2 tests pass", scene{world: &fixture{tests: map[string]func(files) parser.Status{testAdd: always(parser.Passed), testOther: always(parser.Passed)}}}},
		"nothing passes after":      {FailsAfter, testBroken, scene{world: &fixture{tests: map[string]func(files) parser.Status{testBroken: always(parser.Failed), testOther: always(parser.Passed)}}}},
		"what passed fails after":   {FailsAfter, testBroken, scene{world: &fixture{tests: map[string]func(files) parser.Status{testBroken: always(parser.Failed), testOther: when(func(f files) bool { return !adds(f) })}}}},
		"flaky with the fix":        {Flaky, testAdd, scene{world: &fixture{twist: luck(true)}}},
		"flaky without the fix":     {Flaky, testAdd, scene{world: &fixture{twist: luck(false)}}},
		"flaky at the last": {Flaky, testAdd, scene{world: &fixture{twist: func(r *round.Report, f files, _ string, n int) {
			if adds(f) && n == 4 {
				set(r, testAdd, parser.Failed)
			}
		}}}},
		"out of time with the fix": {Timeout, "with the fix: within 1m", scene{world: &fixture{twist: onFix(end(round.StatusTimeout, "within 1m", nil))}}},
		"out of time before":       {Timeout, "on the untouched tree: within 1m", scene{world: &fixture{twist: onBase(end(round.StatusTimeout, "within 1m", none))}}},
		"a command that is not there": {NotFound, "exit code 127", scene{world: &fixture{twist: onBoth(end(round.StatusInvalid, "exit code 127", func(r *round.Report) {
			r.Tests, r.NotRun = nil, true
		}))}}},
		"a command that only the fix brings": {NotFound, "on the untouched tree", scene{world: &fixture{twist: onBase(end(round.StatusInvalid, "exit code 126", func(r *round.Report) {
			r.Tests, r.NotRun = nil, true
		}))}}},
		"a tampered run":             {Tampered, "the tripwire", scene{world: &fixture{twist: onFix(end(round.StatusTampered, "the tripwire", nil))}}},
		"a run that never ends well": {Unusable, "did not come to its end", scene{world: &fixture{twist: onFix(end(round.StatusInvalid, "did not come to its end", nil))}}},
		"a judge that wants more": {Unusable, "too slow", scene{world: &fixture{twist: func(r *round.Report, f files, _ string, n int) {
			if adds(f) && n > 3 {
				end(round.StatusOK, "too slow", nil)(r)
			}
		}}}},
		"tests that do not build": {CollectionError, "missing: plus: ", scene{world: &fixture{broke: func(f files) string {
			if !adds(f) {
				return "tests/test_calc.py"
			}
			return ""
		}}}},
		"tests that do not build in silence": {CollectionError, "did not run", scene{world: &fixture{twist: onBase(end(round.StatusInvalid, "", none))}}},
		"a statement that has other names": {CollectionError, "missing: plus: ", scene{c: Case{Statement: "Let calc have surplus."}, world: &fixture{broke: func(f files) string {
			if !adds(f) {
				return "tests/test_calc.py"
			}
			return ""
		}}}},
		"tests that look for a text": {TestsGrepSource, testAdd, scene{tests: reads, world: &fixture{tests: map[string]func(files) parser.Status{testAdd: grep("a + b")}}}},
		"tests that look for a line": {TestsGrepSource, testAdd, scene{tests: reads, world: &fixture{tests: map[string]func(files) parser.Status{testAdd: grep("\n    return a + b\n")}}}},
		"tests that look for what is gone": {TestsGrepSource, testAdd, scene{tests: reads, world: &fixture{tests: map[string]func(files) parser.Status{testAdd: when(func(f files) bool {
			return strings.Contains(f["calc.py"], "a + b") && !strings.Contains(f["calc.py"], "a - b")
		})}}}},
		"tests that look at a text for people": {TestsGrepSource, testAdd, scene{
			tests: newTest("text = open('README.md').read()"), fixed: fixed(t).edited(t, "README.md", "A calc", "An adding calc"),
			world: &fixture{tests: map[string]func(files) parser.Status{testAdd: when(func(f files) bool { return strings.Contains(f["README.md"], "adding") })}},
		}},
		"a fix of comments": {Uncovered, "comments", scene{fixed: base().edited(t, "calc.py", "# a calculator", "# THE calculator"), world: &fixture{tests: map[string]func(files) parser.Status{
			testAdd: when(func(f files) bool { return strings.Contains(f["calc.py"], "THE") }),
		}}}},
		"either of two places is enough": {Uncovered, "any one of the 2 hunks", scene{fixed: fixed(t).edited(t, "other.py", "return 1", "return 2"), world: &fixture{tests: map[string]func(files) parser.Status{
			testAdd: when(func(f files) bool { return adds(f) || f.does("other.py", "return 2") }),
		}}}},
		"each of two places needs the other": {FixNotNeeded, "all 2 hunks", scene{
			fixed: twoPlaces.edited(t, "calc.py", "a - b", "a + b", "b - a", "b + a", "# a calculator", "# It's a calculator").edited(t, "README.md", "A c", "My c"),
			world: &fixture{base: twoPlaces, tests: map[string]func(files) parser.Status{testAdd: when(func(f files) bool {
				return strings.HasPrefix(f["README.md"], "My") && adds(f) == f.does("calc.py", "return b + a")
			})}},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := s.scene.world
			if w == nil {
				w = &fixture{}
			}
			if w.base == nil {
				w.base = base()
			}
			if w.tests == nil {
				w.tests = usual()
			}
			s.scene.world = w
			if s.scene.fixed == nil {
				s.scene.fixed = fixed(t)
			}
			_, err := s.scene.prove(t)
			got := reason.Of(err)
			if got == nil {
				t.Fatalf("error %v, want %s", err, s.code)
			}
			if got.Code != s.code || !strings.Contains(got.Detail, s.detail) {
				t.Errorf("%s: %s, want %s: %s", got.Code, got.Detail, s.code, s.detail)
			}
		})
	}
}
