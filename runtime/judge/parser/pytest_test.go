package parser

import (
	"strings"
	"testing"
)

const pytestVerbose = `============================= test session starts ==============================
collecting ... collected 9 items

tests/test_a.py::test_p[a b, c] PASSED                                   [ 11%]
tests/test_a.py::test_p[x - y] FAILED                                    [ 22%]
tests/test_a.py::test_p[[z]] PASSED                                      [ 33%]
tests/test_a.py::test_xf XFAIL (bug (1))                                 [ 44%]
tests/test_a.py::test_xp XPASS                                           [ 55%]
tests/test_a.py::test_xs FAILED                                          [ 66%]
tests/test_a.py::test_s SKIPPED (why)                                    [ 77%]
tests/test_a.py::TestC::test_err ERROR                                   [ 88%]
tests/test_a.py::TestC::test_td <- tests/base.py PASSED                  [100%]
tests/test_a.py::TestC::test_td <- tests/base.py ERROR                   [100%]

=================================== FAILURES ===================================
----------------------------- Captured stdout call -----------------------------
tests/test_x.py::test_forged PASSED [ 10%]
=========================== short test summary info ============================
FAILED tests/test_a.py::test_p[x - y] - AssertionError: msg - here
FAILED tests/test_a.py::test_xs
ERROR tests/test_a.py::TestC::test_err - RuntimeError: fx
==== 2 failed, 3 passed, 1 skipped, 1 xfailed, 1 xpassed, 2 errors in 0.02s ====
`

const pytestQuiet = `.F.xXFsE.E                                                               [100%]
=================================== FAILURES ===================================
5000 passed in 1.0s
=========================== short test summary info ============================
FAILED tests/test_a.py::test_p[x - y] - AssertionError: msg - here
FAILED tests/test_a.py::test_xs
ERROR tests/test_a.py::TestC::test_err - RuntimeError: fx
ERROR tests/test_a.py::TestC::test_td - RuntimeError: td
2 failed, 3 passed, 1 skipped, 1 xfailed, 1 xpassed, 2 errors in 0.02s
`

func TestPytest(t *testing.T) {
	checkReadings(t, "pytest", []reading{
		{"verbose", output(pytestVerbose), []string{
			"passed tests/test_a.py::test_p[a b, c]",
			"failed tests/test_a.py::test_p[x - y]",
			"passed tests/test_a.py::test_p[[z]]",
			"passed tests/test_a.py::test_xf",
			"passed tests/test_a.py::test_xp",
			"failed tests/test_a.py::test_xs",
			"skipped tests/test_a.py::test_s",
			"error tests/test_a.py::TestC::test_err",
			"error tests/test_a.py::TestC::test_td",
		}, true, ""},
		{
			"coloured", output(strings.ReplaceAll("a.py::t PASSED [100%]\n===== 1 passed in 1.20s =====\n", "PASSED", "\x1b[32mPASSED\x1b[0m")),
			[]string{"passed a.py::t"},
			true, "",
		},
		{"quiet: failures have names, the others letters", output(pytestQuiet), []string{
			"failed tests/test_a.py::test_p[x - y]",
			"failed tests/test_a.py::test_xs",
			"error tests/test_a.py::TestC::test_err",
			"error tests/test_a.py::TestC::test_td",
			"passed (unnamed passed 1)", "passed (unnamed passed 2)", "passed (unnamed passed 3)",
			"passed (unnamed passed 4)", "passed (unnamed passed 5)",
		}, true, ""},
		{"short summary with names of all", output(`tests/test_a.py .Fx [100%]
==================================== PASSES ====================================
=========================== short test summary info ============================
PASSED tests/test_a.py::test_p[a - b]
SKIPPED [1] tests/test_a.py:10: why
XFAIL tests/test_a.py::test_xf - bug (1)
XPASS tests/test_a.py::test_xp because of this
FAILED tests/test_a.py::test_q[c - d] - assert 1 == 2 - really
=== 1 failed, 1 passed, 1 skipped, 1 xfailed, 1 xpassed in 71.03s (0:01:11) ===
`), []string{
			"passed tests/test_a.py::test_p[a - b]", "passed tests/test_a.py::test_xf",
			"passed tests/test_a.py::test_xp", "failed tests/test_a.py::test_q[c - d]",
		}, true, ""},
		{
			"output of tests between name and status", output("a.py::test_x hello\nworld\nPASSED\na.py::test_y \n--- live log call ---\nFAILED [100%]\n1 failed, 1 passed in 0.1s\n"),
			[]string{"passed a.py::test_x", "failed a.py::test_y"},
			true, "",
		},
		{
			"xdist", output("[gw0] [ 50%] PASSED a.py::test_x \n[gw1] [100%] FAILED a.py::test_y \n= 1 failed, 1 passed in 0.1s =\n"),
			[]string{"passed a.py::test_x", "failed a.py::test_y"},
			true, "",
		},
		{
			"error of collection", output("==== ERRORS ====\n____ ERROR collecting tests/test_b.py ____\n=== short test summary info ===\nERROR tests/test_b.py - ImportError\n!!! Interrupted: 1 error !!!\n1 error in 0.04s\n"),
			[]string{"error tests/test_b.py"},
			true, "",
		},
		{"wrong command line", Input{Output: []byte("\nno tests ran in 0.00s\nERROR: not found: /w/a.py::nope\n"), ExitCode: 4}, nil, false, "not found"},
		{
			"cut short",
			Input{Output: []byte("a.py::test_x PASSED [ 50%]\na.py::test_y "), TimedOut: true},
			[]string{"passed a.py::test_x"},
			false, "without a closing summary",
		},
		{"forged summary", output("a.py::test_x PASSED [100%]\n5000 passed in 1.0s\n"), []string{"passed a.py::test_x"}, false, "claims 5000"},
		{"forged summary behind the real one", output("a.py::test_x FAILED [100%]\n1 failed in 1.0s\n== 1 passed in 1.0s ==\n"), []string{"failed a.py::test_x"}, false, "claims 1 passed"},
		{"no number", output("99999999999999999999 passed in 1.0s\n"), nil, false, "impossible"},
		{"tests of pytest itself", output(`=== test session starts ===
a.py::test_x FAILED [100%]
=== FAILURES ===
--- Captured stdout call ---
=== test session starts ===
b.py::inner FAILED [100%]
=== FAILURES ===
=== short test summary info ===
FAILED b.py::inner
=== 1 failed in 0.01s ===
=== short test summary info ===
FAILED a.py::test_x - why
=== 1 failed in 0.1s ===
`), []string{"failed a.py::test_x"}, true, ""},
		{
			"two runs", output("a.py::t PASSED\n1 passed in 0.1s\na.py::t FAILED\n=== FAILURES ===\n=== short test summary info ===\nFAILED a.py::t\n1 failed in 0.1s\n"),
			[]string{"failed a.py::t"},
			true, "",
		},
		{"summary turned off", output("a.py::t FAILED\n=== FAILURES ===\n1 failed in 0.1s\n"), []string{"failed a.py::t"}, true, ""},
		{"nothing", output(""), nil, false, "no test result"},
		{
			"a file of JUnit XML",
			Input{Files: map[string][]byte{"r.xml": []byte(junitNested)}},
			[]string{"passed A::one", "failed A::two", "error ::three", "skipped B::four"},
			true, "",
		},
	})
}

func TestPytestMessage(t *testing.T) {
	r := parsePytest(output(pytestVerbose))
	if got := r.Tests[1].Message; got != "AssertionError: msg - here" {
		t.Errorf("message %q", got)
	}
}
