package prove_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/assayd/assayd/runtime/decoy"
	"github.com/assayd/assayd/runtime/decoy/mixed"
	"github.com/assayd/assayd/runtime/decoy/prove"
)

// manyTests are tests of fail_to_pass that begin with new, and of pass_to_pass that begin with old:
// these are of a number that both trees have.
func manyTests(wanted, kept int) (text string, s prove.Subject) {
	var b strings.Builder
	for n := range wanted {
		fmt.Fprintf(&b, "def test_new%d():\n    assert f(%d) == %d\n\n\n", n, 10+n, 11+n)
		s.FailToPass = append(s.FailToPass, fmt.Sprintf("test_calc.py::test_new%d", n))
	}
	for n := range kept {
		fmt.Fprintf(&b, "def test_old%d():\n    assert f(0) != %d\n\n\n", n, 50+n)
		s.PassToPass = append(s.PassToPass, fmt.Sprintf("test_calc.py::test_old%d", n))
	}
	base := subject(b.String())
	base.FailToPass, base.PassToPass = s.FailToPass, s.PassToPass
	return b.String(), base
}

// TestHiddenTestsOfPassToPassHaveDecoysToo, a few of them, and always the same.
func TestHiddenTestsOfPassToPassHaveDecoysToo(t *testing.T) {
	text, s := manyTests(1, 20)
	s.Sees = func(v decoy.Variant) bool { return v.Test == "test_calc.py::test_old3" }
	var sets []mixed.Set
	for range 2 {
		set, err := prove.Decoys(t.Context(), s, lab(text, nil))
		if err != nil || set.None != "" {
			t.Fatalf("%q, %v", set.None, err)
		}
		sets = append(sets, set)
	}
	set := sets[0]
	if len(set.Kept) != 16 || !slices.Equal(set.Kept, sets[1].Kept) || slices.Contains(set.Kept, "test_calc.py::test_old3") {
		t.Errorf("%d tests: %q, and then %q", len(set.Kept), set.Kept, sets[1].Kept)
	}
	if set.Checked() != 1 || set.Eligible() != 17 || set.Made() < 10 {
		t.Errorf("%d of fail_to_pass, %d of %d in all", set.Checked(), set.Made(), set.Eligible())
	}
	for _, g := range set.Groups {
		if slices.Contains(set.Kept, g.Tests[0]) && len(g.Decoys) != 1 {
			t.Errorf("%q has %d decoys", g.Tests, len(g.Decoys))
		}
	}
}

// TestWhatDoesNotBuildTogetherIsTakenOutTestByTest: two changes of three, each of which is fine alone.
func TestWhatDoesNotBuildTogetherIsTakenOutTestByTest(t *testing.T) {
	text, s := manyTests(8, 0)
	fails := func(o *mixed.Observed, n int) bool {
		return !o.Tests[fmt.Sprintf("test_calc.py::test_new%d", n)].Passed
	}
	lab := lab(text, func(o *mixed.Observed, laid string) {
		if !strings.Contains(laid, "_assayd_forge") && fails(o, 2) && fails(o, 5) && !fails(o, 7) {
			o.Tests = map[string]mixed.Outcome{} // nothing is seen
		}
	})
	var judged atomic.Int32
	reference := lab.Reference
	lab.Reference = func(ctx context.Context, changed map[string][]byte) (mixed.Observed, error) {
		judged.Add(1)
		return reference(ctx, changed)
	}
	lab.Untouched = func(context.Context, map[string][]byte) (mixed.Observed, error) {
		return runs(text, func(int) int { return 0 }), nil
	}
	for range 10 { // draws differ
		set, err := prove.Decoys(t.Context(), s, lab)
		if err != nil || set.None != "" || set.Checked() < 7 {
			t.Fatalf("%d tests have decoys: %q %q, %v", set.Checked(), set.None, set.Unchecked, err)
		}
		for test, why := range set.Unchecked {
			if !strings.Contains(why, "does not build") && !strings.Contains(why, "no token") {
				t.Errorf("%s is unchecked: %s", test, why)
			}
		}
	}
	if n := judged.Load(); n > 10*200 {
		t.Errorf("%d judgings", n)
	}
}

// TestADecoyThatOurForgerDoesNotPassIsNone, unless the forger has no effect at all.
func TestADecoyThatOurForgerDoesNotPassIsNone(t *testing.T) {
	text, s := manyTests(3, 0)
	forging := func(passes func(test string) bool) func(*mixed.Observed, string) {
		return func(o *mixed.Observed, laid string) {
			if !strings.Contains(laid, "_assayd_forge") {
				return
			}
			for name, outcome := range o.Tests {
				o.Tests[name] = mixed.Outcome{Passed: outcome.Passed || passes(name), Seen: true}
			}
		}
	}
	for name, c := range map[string]struct {
		passes  func(test string) bool
		checked int
		forger  string
	}{
		"all":  {func(string) bool { return true }, 3, ""},
		"two":  {func(test string) bool { return !strings.HasSuffix(test, "1") }, 2, ""},
		"none": {func(string) bool { return false }, 3, "no effect"},
	} {
		t.Run(name, func(t *testing.T) {
			set, err := prove.Decoys(t.Context(), s, lab(text, forging(c.passes)))
			if err != nil || set.Checked() != c.checked || !strings.Contains(set.Forger, c.forger) || (c.forger == "") != (set.Forger == "") {
				t.Errorf("%d tests have decoys, want %d: %q %q, %v", set.Checked(), c.checked, set.Forger, set.Unchecked, err)
			}
			if c.checked == 2 && !strings.Contains(set.Unchecked["test_calc.py::test_new1"], "forger") {
				t.Errorf("%q", set.Unchecked)
			}
		})
	}
}
