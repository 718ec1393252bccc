package parser

import (
	"strings"
	"testing"
)

// The same two failures in each form that pytest has for them. The short summary is cut by the
// width of the terminal, as it is for long names.
const (
	pytestShort = `=========================== short test summary info ============================
FAILED tests/test_parse.py::TestLong::test_a_name_that_is_as_long_as_the_line - A...
FAILED tests/test_parse.py::test_crash[a b] - ValueError: no
2 failed in 0.02s
`
	pytestLongForm = `FF                                                                       [100%]
=================================== FAILURES ===================================
_______________ TestLong.test_a_name_that_is_as_long_as_the_line _______________

self = <test_parse.TestLong object at 0x7f>

    def test_a_name_that_is_as_long_as_the_line(self):
>       check(1)

tests/test_parse.py:9: 
_ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _

    def check(n):
>       assert n == 2
E       assert 1 == 2

tests/test_parse.py:4: AssertionError
----------------------------- Captured stdout call -----------------------------
E       printed by the test
_______________________________ test_crash[a b] ________________________________

>       raise ValueError("no")
E       ValueError: no

src/code.py:13: ValueError
`
	pytestShortForm = `FF                                                                       [100%]
=================================== FAILURES ===================================
_______________ TestLong.test_a_name_that_is_as_long_as_the_line _______________
tests/test_parse.py:9: in test_a_name_that_is_as_long_as_the_line
    check(1)
tests/test_parse.py:4: in check
    assert n == 2
E   assert 1 == 2
_______________________________ test_crash[a b] ________________________________
src/code.py:13: in test_crash
    raise ValueError("no")
E   ValueError: no
`
	pytestNativeForm = `FF                                                                       [100%]
=================================== FAILURES ===================================
_______________ TestLong.test_a_name_that_is_as_long_as_the_line _______________
Traceback (most recent call last):
  File "/w/tests/test_parse.py", line 9, in test_a_name_that_is_as_long_as_the_line
    check(1)
  File "/w/tests/test_parse.py", line 4, in check
    assert n == 2
AssertionError: assert 1 == 2
_______________________________ test_crash[a b] ________________________________
Traceback (most recent call last):
  File "/w/src/code.py", line 13, in test_crash
    raise ValueError("no")
ValueError: no
`
	pytestLineForm = `FF                                                                       [100%]
=================================== FAILURES ===================================
/w/tests/test_parse.py:4: assert 1 == 2
/w/src/code.py:13: ValueError: no
`
)

func TestPytestTellsWhereAndHowATestFailed(t *testing.T) {
	for name, c := range map[string]struct{ output, place, says string }{
		"long":   {pytestLongForm, "tests/test_parse.py:9:", "\nassert 1 == 2\ntests/test_parse.py:4: AssertionError"},
		"short":  {pytestShortForm, "tests/test_parse.py:9:", "\nassert 1 == 2\n"},
		"native": {pytestNativeForm, "/w/tests/test_parse.py:9:", "\nAssertionError: assert 1 == 2\n"},
		"line":   {pytestLineForm, "/w/tests/test_parse.py:4:", "\n/w/tests/test_parse.py:4: assert 1 == 2"},
	} {
		t.Run(name, func(t *testing.T) {
			r := parsePytest(output(c.output + pytestShort))
			if len(r.Tests) != 2 || r.Problem != "" {
				t.Fatalf("%+v", r)
			}
			first, second := r.Tests[0].Detail, r.Tests[1].Detail
			if !strings.HasPrefix(first, c.place) || !strings.Contains(first, c.says) || strings.Contains(first, "printed") {
				t.Errorf("of the first it tells %q", first)
			}
			if !strings.Contains(second, "code.py:13") || !strings.Contains(second, "ValueError") || strings.Contains(second, "assert") {
				t.Errorf("of the second it tells %q", second)
			}
		})
	}
}

func TestDetailsOfPytestAreBounded(t *testing.T) {
	var b strings.Builder
	b.WriteString("=== FAILURES ===\n")
	for range maxDetails + 10 {
		b.WriteString("___ test_x ___\nE   " + strings.Repeat("x", 9000) + "\n")
	}
	d := pytestDetails{form: newPytestDetailForm()}
	d.section("FAILURES")
	for line := range strings.Lines(b.String()) {
		d.line(strings.TrimSuffix(line, "\n"))
	}
	if len(d.blocks) > maxDetails || len(d.of("a.py::test_x")) > maxDetail {
		t.Errorf("%d blocks", len(d.blocks))
	}
}
