package parser

import "testing"

const nodeNested = `TAP version 13
# hello
# \# pass 99
# Subtest: top \# hash \\ back
ok 1 - top \# hash \\ back
  ---
  duration_ms: 0.7
  ...
# Subtest: parent
    # Subtest: child a
    ok 1 - child a
      ---
      duration_ms: 0.1
      ...
    # Subtest: child b
    not ok 2 - child b
      ---
      failureType: 'testCodeFailure'
      error: '1 == 2'
      stack: |-
        ok 3 - forged
        ...
      ...
    1..2
not ok 2 - parent
  ---
  failureType: 'subtestsFailed'
  error: '1 subtest failed'
  ...
# Subtest: suite
    # Subtest: skipped
    ok 1 - skipped # SKIP why
      ---
      duration_ms: 0.1
      ...
    # Subtest: todofail
    not ok 2 - todofail # TODO
      ---
      error: 'x'
      ...
    1..2
ok 3 - suite
  ---
  type: 'suite'
  ...
1..3
# tests 6
# suites 1
# pass 2
# fail 2
# cancelled 0
# skipped 1
# todo 1
# duration_ms 106.4
`

const tapeFlat = `TAP version 13
# group
ok 1 should be equal
not ok 2 should be equal
  ---
    operator: deepEqual
    expected: '//'
  ...
ok 3 later # SKIP

1..3
# tests 3
# pass  1
# fail  1
`

// nodeFile is the point of a test file that ended as it did.
func nodeFile(status, number string) string {
	return "TAP version 13\n# Subtest: /w/b.test.js\n" + status + " 1 - /w/b.test.js\n  ---\n  error: 'test failed'\n  ...\n1..1\n# tests 1\n# pass " + number + "\n# fail 0\n"
}

func TestTAP(t *testing.T) {
	checkReadings(t, "node", []reading{
		{"nested", output(nodeNested), []string{
			`passed top # hash \ back`, "passed parent > child a", "failed parent > child b", "failed parent",
			"skipped suite > skipped", "skipped suite > todofail",
		}, true, ""},
		{"flat", output(tapeFlat), []string{"passed 1 should be equal", "failed 2 should be equal", "skipped 3 later"}, true, ""},
		{"plan only", output("1..2\nok 1 - a\nok 2 - b\n"), []string{"passed 1 a", "passed 2 b"}, true, ""},
		{"plan not kept", output("1..3\nok 1 - a\nok 2 - b\n"), []string{"passed 1 a", "passed 2 b"}, false, "3 tests were planned"},
		{
			"tests of the same name", output("# Subtest: a\nok 1 - a\n# Subtest: s\n    # Subtest: a\n    ok 1 - a\n    # Subtest: a\n    not ok 2 - a\n    1..2\nok 2 - s\n  ---\n  type: 'suite'\n  ...\n# Subtest: a\nnot ok 3 - a\n# Subtest: a\nok 4 - a\n1..4\n"),
			[]string{"passed a", "passed s > a", "failed s > a #2", "failed a #2", "passed a #3"},
			true, "",
		},
		{"a file that ended early", output(nodeFile("ok", "1")), nil, false, "without reporting a test"},
		{"a file that crashed", output(nodeFile("not ok", "0")), []string{"error /w/b.test.js"}, false, "could not be run"},
		{
			"a file around its tests", output("# Subtest: /w/a.test.js\n    # Subtest: one\n    ok 1 - one\n    1..1\nok 1 - /w/a.test.js\n1..1\n"),
			[]string{"passed one"},
			true, "",
		},
		{
			"a hook of a suite that failed", output("# Subtest: s\n    # Subtest: one\n    ok 1 - one\n    1..1\nnot ok 1 - s\n  ---\n  type: 'suite'\n  failureType: 'hookFailed'\n  ...\n1..1\n"),
			[]string{"passed s > one", "error s"},
			true, "",
		},
		{"forged summary", output("# Subtest: a\nnot ok 1 - a\n1..1\n# tests 1\n# pass 1\n# fail 0\n"), []string{"failed a"}, false, "claims pass 1"},
		{"the last summary counts", output("# tests 9\n# pass 9\n# fail 0\n# Subtest: a\nok 1 - a\n1..1\n# tests 1\n# pass 1\n# fail 0\n"), []string{"passed a"}, true, ""},
		{"bail out", output("1..1\nok 1 - a\nBail out! no\n"), []string{"passed 1 a"}, false, "bailed out"},
	})
	r := parseTAP(output("TAP version 13\n# Subtest: a\nok 1 - a\n  ---\n  dura"))
	if len(r.Tests) != 1 || r.Complete {
		t.Errorf("cut short: %+v", r)
	}
}

func TestNodeTellsAssertionsFromCrashes(t *testing.T) {
	report := func(fields string) string {
		return "TAP version 13\n# Subtest: a\nnot ok 1 - a\n  ---\n  duration_ms: 1\n  failureType: 'testCodeFailure'\n" + fields + "  stack: |-\n    Test.run (node:internal/test_runner/test:796:25)\n  ...\n1..1\n"
	}
	for fields, want := range map[string]string{
		"  error: '1 == 2'\n  code: 'ERR_ASSERTION'\n  operator: '=='\n":                                             "AssertionError [ERR_ASSERTION]: 1 == 2",
		"  error: |-\n    Expected values to be strictly equal:\n    \n    1 !== 2\n    \n  code: 'ERR_ASSERTION'\n": "AssertionError [ERR_ASSERTION]: Expected values to be strictly equal:\n1 !== 2",
		"  error: 'x is not a function'\n  code: 'ERR_TEST_FAILURE'\n":                                               "x is not a function",
	} {
		p, _ := Lookup("node")
		tests := p.Parse(Input{Output: []byte(report(fields)), ExitCode: 1}).Tests
		if len(tests) != 1 || tests[0].Message != want {
			t.Errorf("%q: %+v, want the message %q", fields, tests, want)
		}
	}
}
