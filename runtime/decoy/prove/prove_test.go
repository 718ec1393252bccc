package prove_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/assayd/assayd/runtime/decoy"
	"github.com/assayd/assayd/runtime/decoy/mixed"
	"github.com/assayd/assayd/runtime/decoy/prove"
)

const hidden = `from calc import f


def test_one():
    assert f(1) == 2
    assert f(10) == 11


def test_two():
    assert f(20) == 21
    assert f(30) == 31


def test_other():
    assert f(40) == 41
`

var (
	begins  = regexp.MustCompile(`^def (test_\w+)\(`)
	asserts = regexp.MustCompile(`assert f\((\d+)\) (==|!=) (\d+)`)
)

// runs runs the tests of a file as pytest would, for this little language.
func runs(text string, f func(int) int) mixed.Observed {
	o := mixed.Observed{Whole: true, TookMS: 100, Tests: map[string]mixed.Outcome{}}
	name, failed := "", false
	for line := range strings.Lines(text) {
		if m := begins.FindStringSubmatch(line); m != nil {
			name, failed = "test_calc.py::"+m[1], false
			o.Tests[name] = mixed.Outcome{Passed: true, Seen: true}
		}
		m := asserts.FindStringSubmatch(line)
		if m == nil || failed {
			continue
		}
		in, _ := strconv.Atoi(m[1])
		out, _ := strconv.Atoi(m[3])
		if (f(in) == out) != (m[2] == "==") {
			failed = true
			o.Tests[name] = mixed.Outcome{Seen: true, Message: fmt.Sprintf("assert %d %s %d", f(in), m[2], out)}
		}
	}
	return o
}

// lab judges the text that changed holds, or the hidden one.
func lab(text string, change func(*mixed.Observed, string)) prove.Lab {
	judge := func(f func(int) int) func(context.Context, map[string][]byte) (mixed.Observed, error) {
		return func(_ context.Context, changed map[string][]byte) (mixed.Observed, error) {
			laid := text
			if content, ok := changed["test_calc.py"]; ok {
				laid = string(content)
			}
			o := runs(laid, f)
			if change != nil {
				change(&o, laid)
			}
			return o, nil
		}
	}
	return prove.Lab{Reference: judge(func(n int) int { return n + 1 }), Untouched: judge(func(int) int { return 0 })}
}

func subject(text string) prove.Subject {
	return prove.Subject{
		Parser: "pytest", Hidden: map[string][]byte{"test_calc.py": []byte(text)}, Time: time.Hour,
		FailToPass: []string{"test_calc.py::test_one", "test_calc.py::test_two"}, PassToPass: []string{"test_calc.py::test_other"},
		Sees: func(decoy.Variant) bool { return false },
	}
}

func TestEachTestGetsDecoysThatTheReferenceFails(t *testing.T) {
	s := subject(hidden)
	s.PassToPass = nil // the untouched tree of this lab passes nothing
	set, err := prove.Decoys(t.Context(), s, lab(hidden, nil))
	if err != nil || set.None != "" || set.Checked() != 2 || len(set.Unchecked) > 0 {
		t.Fatalf("%+v, %v", set, err)
	}
	for g, group := range set.Groups {
		if len(group.Decoys) < 2 {
			t.Errorf("%v has %d decoys", group.Tests, len(group.Decoys))
		}
		for n, d := range group.Decoys {
			for _, other := range group.Decoys[:n] {
				if d.Overlaps(other.Variant) {
					t.Errorf("two decoys of %v are at the same token", group.Tests)
				}
			}
			draw := slices.Repeat(mixed.Draw{mixed.Real}, len(set.Groups))
			draw[g] = n
			files, err := set.Lay(draw)
			if err != nil {
				t.Fatal(err)
			}
			if o := runs(string(files["test_calc.py"]), func(n int) int { return n + 1 }); o.Tests[d.Test].Passed {
				t.Errorf("the reference passes %s with %q in place of %q", d.Test, d.New, d.Old)
			}
		}
	}
}

func TestWhatIsInDoubtIsLeftOut(t *testing.T) {
	var ran atomic.Int32
	for name, c := range map[string]struct {
		text   string
		change func(*prove.Subject)
		runs   func(o *mixed.Observed, text string)
		checks int // tests that have a decoy
		why    string
	}{
		"a text that agents see": {
			change: func(s *prove.Subject) {
				s.Sees = func(v decoy.Variant) bool { return strings.HasSuffix(v.Test, "one") }
			},
			checks: 1, why: "agents see its text",
		},
		"a test that is flaky on the reference": {
			runs: func(o *mixed.Observed, _ string) {
				if o.Tests["test_calc.py::test_two"].Passed && ran.Add(1)%2 == 0 {
					o.Tests["test_calc.py::test_one"] = mixed.Outcome{Seen: true, Message: "assert 0"}
				}
			},
			checks: 1, why: "flaky",
		},
		"a test that the reference fails": {
			text:   strings.Replace(hidden, "== 2\n", "== 3\n", 1),
			checks: 1, why: "does not pass on the reference",
		},
		"a change that crashes": {
			runs: func(o *mixed.Observed, text string) {
				if one := o.Tests["test_calc.py::test_one"]; !one.Passed {
					one.Message = "IndexError: list index out of range"
					o.Tests["test_calc.py::test_one"] = one
				}
			},
			checks: 1, why: "assertion",
		},
		"a change that changes another": {
			runs: func(o *mixed.Observed, text string) {
				if one := o.Tests["test_calc.py::test_one"]; !one.Passed {
					o.Tests["test_calc.py::test_other"] = mixed.Outcome{Passed: !o.Tests["test_calc.py::test_other"].Passed, Seen: true}
				}
			},
			checks: 1, why: "changes the outcome of",
		},
		"a change that takes long": {
			runs: func(o *mixed.Observed, text string) {
				if !o.Tests["test_calc.py::test_one"].Passed {
					o.TookMS = 60_000
				}
			},
			checks: 1, why: "twice as long",
		},
		"a parser without decoys": {change: func(s *prove.Subject) { s.Parser = "junit" }, why: "language"},
		"no hidden code":          {change: func(s *prove.Subject) { s.Hidden = nil }, why: "no hidden file"},
		"no test to make pass":    {change: func(s *prove.Subject) { s.FailToPass = nil }, why: "fail_to_pass"},
		"no time":                 {change: func(s *prove.Subject) { s.Time = 0 }, why: "no test of fail_to_pass has a decoy"},
	} {
		t.Run(name, func(t *testing.T) {
			text := c.text
			if text == "" {
				text = hidden
			}
			ran.Store(0)
			s := subject(text)
			if c.change != nil {
				c.change(&s)
			}
			set, err := prove.Decoys(t.Context(), s, lab(text, c.runs))
			if err != nil {
				t.Fatal(err)
			}
			why := set.None + set.Unchecked["test_calc.py::test_one"]
			if set.Checked() != c.checks || !strings.Contains(why, c.why) {
				t.Errorf("%d tests have a decoy, want %d; it says %q, want %q (%v)", set.Checked(), c.checks, why, c.why, slices.Sorted(maps.Keys(set.Unchecked)))
			}
		})
	}
}

// TestWhatPassesBesideOthersIsTakenOut: what a test does depends on how many others are changed.
func TestWhatPassesBesideOthersIsTakenOut(t *testing.T) {
	text := strings.Replace(hidden, "def test_other():\n    assert f(40) == 41\n", "def test_three():\n    assert f(50) == 51\n    assert f(60) == 61\n", 1)
	const three = "test_calc.py::test_three"
	s := subject(text)
	s.FailToPass, s.PassToPass = append(s.FailToPass, three), nil
	together := func(o *mixed.Observed, _ string) {
		failed := 0
		for _, outcome := range o.Tests {
			if !outcome.Passed {
				failed++
			}
		}
		if failed == 2 { // on the reference two are changed: then they pass
			for name := range o.Tests {
				o.Tests[name] = mixed.Outcome{Passed: true, Seen: true}
			}
		}
	}
	set, err := prove.Decoys(t.Context(), s, lab(text, together))
	if err != nil || set.Checked() > 2 || set.None != "" && !strings.Contains(set.None, "does not come out clean") || (set.None == "") == (len(set.Groups) == 0) {
		t.Errorf("%d tests have decoys: %q %q, %v", set.Checked(), set.None, set.Unchecked, err)
	}
	if len(set.Unchecked) == 0 || len(set.Unchecked)+set.Checked() != 3 {
		t.Errorf("unchecked are %q", set.Unchecked)
	}
}

func TestAMachineThatFailsIsNoAnswer(t *testing.T) {
	broken := errors.New("the engine is away")
	fails := func(context.Context, map[string][]byte) (mixed.Observed, error) { return mixed.Observed{}, broken }
	if _, err := prove.Decoys(t.Context(), subject(hidden), prove.Lab{Reference: fails, Untouched: fails}); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
}
