package parser

import (
	"strings"
	"testing"
)

// rules draws the lines of unittest: "==" and "--" at the start of a line.
func rules(text string) string {
	text = strings.ReplaceAll("\n"+text, "\n==\n", "\n"+thickRule+"\n")
	return strings.ReplaceAll(text, "\n--\n", "\n"+thinRule+"\n")[1:]
}

// unittestModern is of Python 3.11 and later, where all that has a result has a name.
const unittestModern = `test_cleanup (pkg.a.A.test_cleanup) ... FAIL
test_cleanup (pkg.a.A.test_cleanup) ... ERROR
test_doc (pkg.a.A.test_doc)
First ... line of doc. ... ok
test_err (pkg.a.A.test_err) ... ERROR
test_print (pkg.a.A.test_print) ... hello
no endok
test_skip (pkg.a.A.test_skip) ... skipped 'it\'s "so"'
test_sub (pkg.a.A.test_sub) ... 
  test_sub (pkg.a.A.test_sub) (i=2) ... FAIL
  test_sub (pkg.a.A.test_sub) (i=3) ... skipped 's3'
test_suberr (pkg.a.A.test_suberr)
Doc of sub. ... 
  test_suberr (pkg.a.A.test_suberr) [msg] (i=1)
Doc of sub. ... ERROR
test_warn (pkg.a.A.test_warn) ... /w/a.py:31: DeprecationWarning: depr
  def test_warn(self): warnings.warn("depr", DeprecationWarning)
ok
test_xf (pkg.a.A.test_xf) ... expected failure
test_xs (pkg.a.A.test_xs) ... unexpected success
ERROR
setUpClass (pkg.a.C) ... skipped 'no class'
test_local (pkg.a.make.<locals>.L.test_local) ... ok
test_imp (unittest.loader._FailedTest.test_imp) ... ERROR
setUpModule (pkg.b) ... ERROR

==
ERROR: test_cleanup (pkg.a.A.test_cleanup)
--
ZeroDivisionError: division by zero

==
ERROR: test_err (pkg.a.A.test_err)
--
RuntimeError: boom

==
ERROR: test_suberr (pkg.a.A.test_suberr) [msg] (i=1)
Doc of sub.
--
RuntimeError: boo

==
ERROR: setUpClass (pkg.a.B)
--
RuntimeError: suc

==
ERROR: test_imp (unittest.loader._FailedTest.test_imp)
--
ImportError: Failed to import test module: test_imp

==
ERROR: setUpModule (pkg.b)
--
RuntimeError: x

==
FAIL: test_cleanup (pkg.a.A.test_cleanup)
--
AssertionError: x

==
FAIL: test_sub (pkg.a.A.test_sub) (i=2)
--
AssertionError: sub

==
UNEXPECTED SUCCESS: test_xs (pkg.a.A.test_xs)
--
Ran 12 tests in 0.001s

FAILED (failures=2, errors=6, skipped=3, expected failures=1, unexpected successes=1)
`

// unittestOld is of versions before: no line for a subtest, no name for a class.
const unittestOld = `test_doc (a.A)
First line of doc. ... ok
test_sub (a.A) ... test_subok (a.A) ... ok
test_suberr (a.A)
Doc of sub. ... test_fail (a.A) ... FAIL
test_xs (a.A) ... unexpected success
ERROR
skipped 'no class'
test_f (a.F) ... ok
ERROR

==
ERROR: test_suberr (a.A) [msg] (i=1)
Doc of sub.
--
RuntimeError: boo

==
ERROR: setUpClass (a.B)
--
RuntimeError: suc

==
ERROR: tearDownClass (a.F)
--
RuntimeError: tdc

==
FAIL: test_sub (a.A) (i=2)
--
AssertionError: sub

==
FAIL: test_fail (a.A)
--
AssertionError: why

--
Ran 7 tests in 0.001s

FAILED (failures=2, errors=3, skipped=1, unexpected successes=1)
`

const unittestDots = `.F.xsE.u
==
ERROR: setUpClass (a.B)
--
RuntimeError: suc

==
FAIL: test_fail (a.A)
--
AssertionError: why

--
Ran 7 tests in 0.001s

FAILED (failures=1, errors=1, skipped=1, expected failures=1, unexpected successes=1)
`

const unittestEnd = "\n--\nRan 1 test in 0.001s\n\nOK\n"

func TestUnittest(t *testing.T) {
	one, bad := []string{"passed t (a.A.t)"}, []string{"failed t (a.A.t)"}
	failing := "t (a.A.t) ... FAIL\n\n==\nFAIL: t (a.A.t)\n--\nAssertionError: x\n"
	for _, name := range []string{"unittest", "django"} {
		checkReadings(t, name, []reading{
			{"modern", output(rules(unittestModern)), []string{
				"error test_cleanup (pkg.a.A.test_cleanup)", "passed test_doc (pkg.a.A.test_doc)",
				"error test_err (pkg.a.A.test_err)", "passed test_print (pkg.a.A.test_print)",
				"skipped test_skip (pkg.a.A.test_skip)", "failed test_sub (pkg.a.A.test_sub)",
				"error test_suberr (pkg.a.A.test_suberr)", "passed test_warn (pkg.a.A.test_warn)",
				"passed test_xf (pkg.a.A.test_xf)", "failed test_xs (pkg.a.A.test_xs)",
				"skipped setUpClass (pkg.a.C)", "passed test_local (pkg.a.make.<locals>.L.test_local)",
				"error test_imp (unittest.loader._FailedTest.test_imp)", "error setUpModule (pkg.b)", "error setUpClass (pkg.a.B)",
			}, true, ""},
			{"old", output(rules(unittestOld)), []string{
				"passed test_doc (a.A)", "passed test_subok (a.A)", "failed test_fail (a.A)", "failed test_xs (a.A)", "passed test_f (a.F)",
				"error test_suberr (a.A)", "error setUpClass (a.B)", "error tearDownClass (a.F)", "failed test_sub (a.A)",
			}, true, ""},
			{"without -v", output(rules(unittestDots)), []string{
				"error setUpClass (a.B)", "failed test_fail (a.A)",
				"passed (unnamed passed 1)", "passed (unnamed passed 2)", "passed (unnamed passed 3)", "passed (unnamed passed 4)",
				"failed (unnamed failed 1)",
			}, true, ""},
			{"quiet", output(rules("--\nRan 3 tests in 0.1s\n\nOK\n")), nil, false, "is -v missing?"},
			{
				"skipped tests that are not said to have run",
				output(rules("t (a.A.t) ... ok\ns (a.A.s) ... skipped 'x'\n\n--\nRan 1 test in 0.0s\n\nOK (skipped=1)\n")),
				[]string{"passed t (a.A.t)", "skipped s (a.A.s)"},
				true, "",
			},
			{
				"coloured", output(rules("\x1b[32mt (a.A.t) ... \x1b[0mok\n" + unittestEnd)), one, true, "",
			},
			{
				"two runs", output(rules("t (a.A.t) ... ok\n" + unittestEnd + failing + "\n--\nRan 1 test in 0.1s\n\nFAILED (failures=1)\n")),
				bad,
				true, "",
			},
			{"cut short", Input{Output: []byte("t (a.A.t) ... ok\nu (a.A.u) ... "), TimedOut: true}, []string{"passed t (a.A.t)", "error u (a.A.u)"}, false, "never ended"},
			{"cut between tests", output("t (a.A.t) ... ok\n"), one, false, "without a closing summary"},
			{"cut in the summary", output(rules("t (a.A.t) ... ok\n\n--\nRan 1 test in 0.001s\n")), one, false, "without a closing summary"},
			{"nothing ran", output(rules("\n--\nRan 0 tests in 0.000s\n\nNO TESTS RAN\n")), nil, false, "no test result"},
			{"nothing", output(""), nil, false, "no test result"},

			{"forged summary in a test", output(rules("t (a.A.t) ... \n--\nRan 900 tests in 0.1s\n\nOK\nok\n" + unittestEnd)), one, true, ""},
			{"forged summary behind the real one", output(rules(failing + "\n--\nRan 1 test in 0.1s\n\nFAILED (failures=1)\n" + unittestEnd)), bad, false, "claims failures=0"},
			{"forged summary between failures", output(rules(failing + unittestEnd + "\n==\nFAIL: t (a.A.t)\n--\nx\n\n--\nRan 1 test in 0.1s\n\nFAILED (failures=1)\n")), bad, false, "claims failures=1, the output shows 2"},
			{"forged summary before the failures", output(rules("t (a.A.t) ... FAIL\n" + unittestEnd + failing[18:] + "\n--\nRan 1 test in 0.1s\n\nFAILED (failures=1)\n")), bad, true, ""},
			{"forged summary before the real one", output(rules(failing + unittestEnd + "\n--\nRan 1 test in 0.1s\n\nFAILED (failures=1)\n")), bad, true, ""},
			{"summary without its rule", output(rules("t (a.A.t) ... ok\nRan 5 tests in 0.1s\n\nOK\n" + unittestEnd)), one, true, ""},
			{
				"forged results before the real ones", output(rules("t (a.A.t) ... x (a.A.x) ... ok\nok\nx (a.A.x) ... ok\nok\n\n--\nRan 2 tests in 0.1s\n\nOK\n")),
				[]string{"passed t (a.A.t)", "passed x (a.A.x)"},
				true, "",
			},
			{
				"forged result of another test", output(rules("t (a.A.t) ... \nx (a.A.x) ... ok\nok\n" + unittestEnd)),
				[]string{"passed x (a.A.x)", "error t (a.A.t)"},
				false, "never ended",
			},
			{"skipped after it printed ok", output(rules("t (a.A.t) ... ok\nskipped 'x'\n\n--\nRan 1 test in 0.1s\n\nOK (skipped=1)\n")), []string{"skipped t (a.A.t)"}, true, ""},
			{"failed after it printed ok", output(rules("t (a.A.t) ... ok\n" + failing[14:] + "\n--\nRan 1 test in 0.1s\n\nFAILED (failures=1)\n")), bad, true, ""},
			{"a failure without an account", output(rules("t (a.A.t) ... FAIL\n\n--\nRan 1 test in 0.1s\n\nFAILED (failures=1)\n")), bad, false, "failures=1"},
			{"more tests than have lines", output(rules("t (a.A.t) ... ok\n\n--\nRan 5 tests in 0.1s\n\nOK\n")), one, false, "claims 5 tests"},
			{"an impossible number", output(rules("t (a.A.t) ... ok\n\n--\nRan 99999999999999999999 tests in 0.1s\n\nOK\n")), one, false, "claims -1"},
			{
				"a summary quoted in a failure", output(rules(failing + "--\nRan 1 test in 0.1s\n\nOK\n\n--\nRan 1 test in 0.1s\n\nFAILED (failures=1)\n")),
				bad,
				true, "",
			},
		})
	}
}

func TestDjangoLines(t *testing.T) {
	checkReadings(t, "django", []reading{{"databases", output(rules(`Found 2 test(s).
Creating test database for alias 'default' ('file:memorydb_default?mode=memory&cache=shared')...
Running migrations:
  Applying contenttypes.0001_initial... OK
System check identified no issues (0 silenced).
test_a (tests.test_a.A.test_a) ... ok
test_b (tests.test_a.A.test_b)
What it is about. ... FAIL

==
FAIL: test_b (tests.test_a.A.test_b)
What it is about.
--
AssertionError: True is not false

--
Ran 2 tests in 3.356s

FAILED (failures=1)
Destroying test database for alias 'default' ('file:memorydb_default?mode=memory&cache=shared')...
`)), []string{"passed test_a (tests.test_a.A.test_a)", "failed test_b (tests.test_a.A.test_b)"}, true, ""}})
}

func TestUnittestMessages(t *testing.T) {
	r := parseUnittest(output(rules(unittestModern)))
	got := map[string]string{}
	for _, test := range r.Tests {
		got[test.Name] = test.Message
	}
	for name, want := range map[string]string{
		"test_sub (pkg.a.A.test_sub)":       "(i=2)\nAssertionError: sub",
		"test_suberr (pkg.a.A.test_suberr)": "[msg] (i=1)\nDoc of sub.\nRuntimeError: boo",
		"test_skip (pkg.a.A.test_skip)":     `it\'s "so"`,
	} {
		if got[name] != want {
			t.Errorf("message of %s: %q, want %q", name, got[name], want)
		}
	}
}
