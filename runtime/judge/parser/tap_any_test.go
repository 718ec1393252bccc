package parser

import "testing"

const tapFourteen = `TAP version 14
1..4
ok 1 - first # time=12.5ms
# Subtest: a.test.js
    # Subtest: inner
    ok 1 - inner
    1..1
ok 2 - a.test.js # time=5ms
not ok 3 - third
  ---
  message: no
  ...
ok 4 # skip not here
`

func TestAnyTAP(t *testing.T) {
	flat := []string{"passed 1 a", "failed 2 b"}
	checkReadings(t, "tap", []reading{
		{"subtests", output(tapFourteen), []string{"passed 1 first", "passed inner", "failed 3 third", "skipped 4"}, true, ""},
		{"twelve, plan first", output("1..2\nok 1 - a\nnot ok 2 - b\n#   Failed test 'b'\n# Looks like you failed 1 test of 2.\n"), flat, true, ""},
		{"plan last, numbers left out", output("ok a\nnot ok b # TODO later\n1..2\n"), []string{"passed a", "skipped b"}, true, ""},
		{"a summary that counts what is to do as passed", output("ok 1 x\nnot ok 2 y # TODO\nok 3 z # SKIP\n1..3\n# tests 3\n# pass  3\n"), []string{"passed 1 x", "skipped 2 y", "skipped 3 z"}, true, ""},
		{"streams", output("TAP version 13\n1..1\nok 1 - a\n# tests 1\n# pass  1\nTAP version 13\n1..1\nnot ok 1 - a\n# tests 1\n# pass  0\n# fail  1\n"), []string{"passed 1 a", "failed 1 a #2"}, true, ""},
		{"nothing was to be run", output("1..0 # SKIP not here\n"), nil, false, "no test result"},

		// Attacks, and runs that broke.
		{"no plan", output("TAP version 13\nok 1 - a\nnot ok 2 - b\n"), flat, false, "no plan"},
		{"summary without plan", output("ok 1 - a\nnot ok 2 - b\n# tests 2\n# pass 1\n# fail 1\n"), flat, false, "no plan"},
		{"fewer than planned", output("1..3\nok 1 - a\nnot ok 2 - b\n"), flat, false, "3 tests were planned"},
		{"more than planned", output("1..1\nok 1 - a\nnot ok 2 - b\n"), flat, false, "1 tests were planned"},
		{"forged point", output("1..2\nok 2 - b\nok 1 - a\nnot ok 2 - b\n"), []string{"passed 2 b", "passed 1 a", "failed 2 b #2"}, false, "2 tests were planned"},
		{"forged summary", output("1..2\nok 1 - a\nnot ok 2 - b\n# tests 2\n# pass 2\n# fail 0\n"), flat, false, "claims pass 2"},
		{"absurd plan", output("1..99999999999999999999\nok 1 - a\nnot ok 2 - b\n"), flat, false, "a plan is too large"},
		{"bail out", output("1..2\nok 1 - a\nnot ok 2 - b\nBail out! no\n"), flat, false, "bailed out"},
		{"cut short", output("ok 1 - a\nnot ok 2 - b\n  ---\n  message"), flat, false, "no plan"},
	})
}
