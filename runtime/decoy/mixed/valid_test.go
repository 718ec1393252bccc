package mixed_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/assayd/assayd/runtime/decoy"
	"github.com/assayd/assayd/runtime/decoy/mixed"
)

func TestOnlyWhatFailsAloneAtAnAssertionIsADecoy(t *testing.T) {
	v := decoy.Variant{Test: "a"}
	g := mixed.Group{Tests: []string{"a"}}
	real := mixed.Observed{Whole: true, TookMS: 1000, Tests: map[string]mixed.Outcome{
		"a": {Passed: true, Seen: true}, "b": {Passed: true, Seen: true}, "c": {Seen: true, Message: "assert 0"},
	}}
	failed := func(message string) mixed.Outcome { return mixed.Outcome{Seen: true, Message: message} }
	pass := mixed.Outcome{Passed: true, Seen: true}
	cases := map[string]struct {
		own, other mixed.Outcome
		took       int64
		cut        bool
		why        string
	}{
		"a decoy":                       {own: failed("assert 1 == 2"), other: pass},
		"it passes":                     {own: pass, other: pass, why: "passes on the reference"},
		"it is not seen":                {other: pass, why: "not seen"},
		"it crashes":                    {own: failed("IndexError: list index out of range"), other: pass, why: "assertion"},
		"it changes another":            {own: failed("assert 1 == 2"), other: failed("x"), why: "outcome of b"},
		"it keeps another from running": {own: failed("assert 1 == 2"), why: "outcome of b"},
		"it takes long":                 {own: failed("assert 1 == 2"), other: pass, took: 9000, why: "twice"},
		"it does not end":               {own: failed("assert 1 == 2"), other: pass, cut: true, why: "did not end"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := mixed.Observed{Whole: !c.cut, TookMS: c.took, Tests: map[string]mixed.Outcome{"a": c.own, "b": c.other, "c": real.Tests["c"]}}
			why := mixed.Valid("pytest", g, v, real, got)
			if (why == "") != (c.why == "") || !strings.Contains(why, c.why) {
				t.Errorf("%q, want %q", why, c.why)
			}
		})
	}
}

func TestAssertionsAreToldFromCrashes(t *testing.T) {
	for _, c := range []struct {
		parser, message string
		want            bool
	}{
		{"pytest", "assert 'a' == 'b'", true},
		{"pytest", "AssertionError: 1 != 2", true},
		{"pytest", "Failed: DID NOT RAISE <class 'ValueError'>", true},
		{"pytest", "A...\ntests/test_a.py:9:\nassert 1 == 2\ntests/test_a.py:4: AssertionError", true},
		{"pytest", "\n/w/tests/test_a.py:4:\n/w/tests/test_a.py:4: assert 1 == 2", true},
		{"pytest", "A...\nsrc/a.py:9:\nAttributeError: no\nsrc/a.py:9: AttributeError", false},
		{"pytest", "FAILED\nE       AssertionError: x", true},
		{"pytest", "Failed: Timeout", true},
		{"pytest", "KeyError: 'a'", false},
		{"pytest", "NameError: name 'assert_it' is not defined", false},
		{"pytest", "", false},
		{"unittest", "Traceback (most recent call last):\n  File \"t.py\", line 3\nAssertionError: 1 != 2", true},
		{"unittest", "Traceback (most recent call last):\n  File \"t.py\", line 3\nKeyError: 1", false},
		{"gotest", "    a_test.go:12: got 1, want 2", true},
		{"gotest", "panic: runtime error: index out of range\n  /src/a_test.go:12: x", false},
		{"gotest", "", false},
		{"cargo", "thread 'a' panicked at tests/a.rs:5:5:\nassertion `left == right` failed\n  left: 1", true},
		{"cargo", "thread 'a' panicked at src/lib.rs:5:5:\nindex out of bounds", false},
		{"node", "AssertionError [ERR_ASSERTION]: 1 == 2", true},
		{"mocha", "AssertionError: expected 1 to equal 2", true},
		{"jest", "expect(received).toBe(expected)", true},
		{"jest", "TypeError: f is not a function", false},
		{"nothing", "assert 1", false},
	} {
		if got := mixed.AtAssertion(c.parser, c.message); got != c.want {
			t.Errorf("%s %q: %v", c.parser, c.message, got)
		}
	}
}

func TestADecoyFailsWhereTheTestFailsOnTheUntouchedTree(t *testing.T) {
	v := decoy.Variant{Test: "a"}
	seen := func(o mixed.Outcome) mixed.Observed { return mixed.Observed{Tests: map[string]mixed.Outcome{"a": o}} }
	failed := func(message string) mixed.Outcome { return mixed.Outcome{Seen: true, Message: message} }
	for name, c := range map[string]struct {
		real, got mixed.Outcome
		why       string
	}{
		"the same line":    {failed("a_test.go:3: got 1"), failed("a_test.go:3: got 2"), ""},
		"no place":         {failed("assert 1 == 2"), failed("assert 1 == 3"), ""},
		"neither is seen":  {mixed.Outcome{}, mixed.Outcome{}, ""},
		"another line":     {failed("a_test.go:3: got 1"), failed("a_test.go:5: got 1"), "another place"},
		"it passes":        {failed("x"), mixed.Outcome{Passed: true, Seen: true}, "passes"},
		"the test is kept": {mixed.Outcome{Passed: true, Seen: true}, failed("assert 1 == 2"), ""},
		"it crashes there": {mixed.Outcome{Passed: true, Seen: true}, failed("KeyError: 1"), "where the test passes"},
		"only it is seen":  {mixed.Outcome{}, failed("x"), "seen"},
	} {
		if why := mixed.SamePlace("pytest", v, seen(c.real), seen(c.got)); (why == "") != (c.why == "") || !strings.Contains(why, c.why) {
			t.Errorf("%s: %q, want %q", name, why, c.why)
		}
	}
}

func TestLooseComparisonsAreWeak(t *testing.T) {
	for line, want := range map[string]bool{
		"assert f(1) == 5":                         false,
		"    if got := f(1); got != 5 {":           false,
		"assert f(1) < 5":                          true,
		"assert f(1) >= 5":                         true,
		"assert f(1) == pytest.approx(5)":          true,
		"self.assertIn('5', f(1))":                 true,
		"assert '5' in f(1)":                       true,
		`if !strings.Contains(err.Error(), "5") {`: true,
		"assert f(1) == 5 or f(2) == 5":            true,
		"func(a int) -> 5":                         false,
	} {
		content := []byte("first\n" + line + "\nlast\n")
		at := strings.IndexByte(string(content), '5')
		v := decoy.Variant{From: at, To: at + 1, Side: decoy.Expected}
		if got := mixed.Weak(v, content); got != want {
			t.Errorf("%q: weak %v, want %v", line, got, want)
		}
		v.Side = decoy.Input
		if !mixed.Weak(v, content) {
			t.Errorf("%q: a changed input decides alone", line)
		}
	}
}

func TestTextThatAgentsSeeIsNoDecoy(t *testing.T) {
	content := []byte("def test_new():\n    x = f(1)\n    assert x == 5\n    assert g(x) == 7\n")
	v := decoy.Variant{Test: "test_new", File: "t.py", From: strings.Index(string(content), "5"), To: strings.Index(string(content), "5") + 1}
	for name, c := range map[string]struct {
		file, text string
		want       bool
	}{
		"nothing is there":                 {"t.py", "def test_old():\n    assert f(2) == 6\n", false},
		"the file is there":                {"t.py", string(content), true},
		"it is there with other margins":   {"t.py", strings.ReplaceAll(string(content), "    ", "\t"), true},
		"it is there under another name":   {"docs/example.py", string(content), true},
		"the line is there by coincidence": {"t.py", "def test_old():\n    x = h()\n    assert x == 5\n    done()\n", false},
		"one neighbour in another file":    {"u.py", "x = f(1)\nassert x == 5\ndone()\n", false},
		"one neighbour in the same file":   {"t.py", "x = f(1)\nassert x == 5\ndone()\n", true},
	} {
		seen := mixed.NewText(map[string][]byte{"t.py": content})
		seen.Add(c.file, []byte(c.text))
		if got := seen.Tells(v); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestTestsThatHangTogetherAreOneGroup(t *testing.T) {
	v := func(test string, shares ...string) []decoy.Variant {
		return []decoy.Variant{{Test: test, Affects: shares, Side: decoy.Expected}}
	}
	for name, c := range map[string]struct {
		parser   string
		variants map[string][]decoy.Variant
		want     [][]string
	}{
		"subtests": {"gotest", map[string][]decoy.Variant{"p::TestA": v("p::TestA"), "p::TestA/x": v("p::TestA/x"), "p::TestB": v("p::TestB")}, [][]string{{"p::TestA", "p::TestA/x"}, {"p::TestB"}}},
		"parameters": {
			"pytest",
			map[string][]decoy.Variant{"t.py::a[1]": v("t.py::a[1]"), "t.py::a[2]": v("t.py::a[2]"), "t.py::b": v("t.py::b")},
			[][]string{{"t.py::a[1]", "t.py::a[2]"}, {"t.py::b"}},
		},
		"shared text": {
			"pytest",
			map[string][]decoy.Variant{"t.py::a": v("t.py::a", "t.py::c"), "t.py::b": v("t.py::b"), "t.py::c": v("t.py::c")},
			[][]string{{"t.py::a", "t.py::c"}, {"t.py::b"}},
		},
	} {
		var got [][]string
		for _, g := range mixed.Candidates(c.parser, c.variants) {
			got = append(got, g.Tests)
		}
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestASetIsReadBackAsItWasWritten(t *testing.T) {
	s := groupsOf(2, 2)
	s.Flaky, s.Unchecked = []string{"x"}, map[string]string{"y": "none"}
	back, err := mixed.Decode(s.Encode())
	if err != nil || !reflect.DeepEqual(s, back) {
		t.Errorf("%+v, %v", back, err)
	}
	if _, err := mixed.Decode([]byte("{")); err == nil {
		t.Error("half a set is read")
	}
}
