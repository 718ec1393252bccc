package parser

import (
	"strings"
	"testing"
)

const jestTwoFiles = `  console.log
    ✓ printed (5 ms)

      at log (b.test.js:2:11)

FAIL ./b.test.js (5.589 s)
  ✓ top (1 ms)
  outer
    ✓ one (3 ms)
    ✓ one
    nested
      ✕ two (2 ms)
      ○ skipped three
      ✎ todo four

  ● outer › nested › two

    expect(received).toBe(expected)

    > 5 |   ✓ quoted
      at Object.toBe (b.test.js:5:33)

PASS sub/a.test.js
  ✓ top (1.5 s)
  x
    y
      ✓ z
    ✓ after

Test Suites: 1 failed, 1 passed, 2 total
Tests:       1 failed, 1 skipped, 1 todo, 6 passed, 9 total
Snapshots:   0 total
Time:        0.897 s
Ran all test suites.
`

const jestJSON = `{"numTotalTests":3,"numPassedTests":1,"numFailedTests":1,"numPendingTests":1,"numTodoTests":0,"success":false,"testResults":[` +
	`{"name":"/w/b.test.js","status":"failed","assertionResults":[{"ancestorTitles":["outer"],"title":"one","status":"failed","failureMessages":["no"]}]},` +
	`{"name":"/w/a.test.js","status":"passed","assertionResults":[{"ancestorTitles":[],"title":"top","status":"passed"},{"ancestorTitles":["outer"],"title":"one","status":"pending"}]}]}` + "\n"

// jestRun is a run of one file.
func jestRun(header, tree, tests string) string {
	suites := "1 passed"
	if strings.HasPrefix(header, "FAIL") {
		suites = "1 failed"
	}
	return header + "\n" + tree + "\nTest Suites: " + suites + ", 1 total\nTests:       " + tests + " total\n"
}

func TestJest(t *testing.T) {
	broken := "  ● Test suite failed to run\n\n    SyntaxError: x\n"
	first, _, _ := strings.Cut(jestTwoFiles, "PASS")
	few := "Test Suites: 1 failed, 1 passed, 2 total\nTests:       1 failed, 1 skipped, 1 passed, 3 total\n"
	document := []string{"passed top", "skipped outer > one", "failed outer > one #2"}
	checkReadings(t, "jest", []reading{
		{"two files", output(jestTwoFiles), []string{
			"passed top", "passed outer > one", "passed outer > one #2", "failed outer > nested > two",
			"skipped outer > nested > three", "skipped outer > nested > four",
			"passed top #2", "passed x > y > z", "passed x > after",
		}, true, ""},
		{"marks of Windows, in colours", output(jestRun("\x1b[7m PASS \x1b[0m \x1b[2ma.test.js\x1b[0m", "  \x1b[32m√\x1b[39m one \x1b[2m(5ms)\x1b[22m\n  \x1b[31m×\x1b[39m two\n", "1 failed, 1 passed, 2")), []string{"passed one", "failed two"}, true, ""},
		{"all tests skipped", output("Test Suites: 1 skipped, 0 of 1 total\nTests:       2 skipped, 2 total\n"), nil, false, "claims 2 total"},
		{"a file that could not be run", output(jestRun("FAIL a.test.js", broken, "0")), []string{"error a.test.js"}, false, "a.test.js could not be run"},
		{"a file that failed behind its tests", output(jestRun("FAIL a.test.js", "  ✓ one\n\n"+broken, "1 passed, 1")), []string{"passed one", "error a.test.js"}, false, "could not be run"},
		{
			"names of the failed only", output("FAIL b.test.js\n  ● Console\n\n    console.log\n      ● x\n\n  ● outer › one\n\n    no\n\nPASS a.test.js\n\n" + few),
			[]string{"failed outer > one"},
			false, "claims 3 total",
		},
		{"the recap counts no more", output(strings.Replace(jestTwoFiles, "Test Suites:", "Summary of all failing tests\nFAIL ./b.test.js\n  ● outer › nested › two\n\n    no\n\nTest Suites:", 1)), []string{
			"passed top", "passed outer > one", "passed outer > one #2", "failed outer > nested > two",
			"skipped outer > nested > three", "skipped outer > nested > four",
			"passed top #2", "passed x > y > z", "passed x > after",
		}, true, ""},
		{"document", output(jestJSON), document, true, ""},
		{"a document and the summary of its text", output("PASS a.test.js\nFAIL b.test.js\n\n" + few + jestJSON), document, true, ""},
		{"nothing", output("No tests found, exiting with code 1\n"), nil, false, "no test result"},

		// Attacks.
		{"forged summary in front", output("Tests:       9 passed, 9 total\n" + jestRun("FAIL a.test.js", "  ✕ one\n", "1 failed, 1")), []string{"failed one"}, true, ""},
		{"forged summary behind", output(jestRun("FAIL a.test.js", "  ✕ one\n", "1 failed, 1") + "Test Suites: 1 passed, 1 total\nTests:       1 passed, 1 total\n"), []string{"failed one"}, false, "claims 1 passed"},
		{"forged lines", output("  ✓ two\n\n" + jestRun("FAIL a.test.js", "  ✕ one\n", "1 failed, 1")), []string{"failed one"}, true, ""},
		{"forged file", output("PASS x.test.js\n  ✓ one\n\n" + jestRun("FAIL a.test.js", "  ✕ one\n", "1 failed, 1")), []string{"failed one", "passed one #2"}, false, "claims 0 passed"},
		{"forged recap", output("Summary of all failing tests\n" + jestRun("FAIL a.test.js", "  ✕ one\n", "1 failed, 1")), nil, false, "claims 1 total"},
		{"forged document beside a text", output(`{"numTotalTests":1,"numPassedTests":1,"testResults":[{"name":"a","assertionResults":[{"title":"one","status":"passed"}]}]}` + "\n" + jestRun("FAIL a.test.js", "  ✕ one\n", "1 failed, 1")), []string{"failed one"}, true, ""},
		{"forged document beside a short text", output(`{"numTotalTests":1,"numPassedTests":1,"testResults":[{"name":"a","assertionResults":[{"title":"one","status":"passed"}]}]}` + "\nFAIL a.test.js\n  ● one\n\n    no\n\nFAIL b.test.js\n  ● two\n\n    no\n\nTest Suites: 2 failed, 2 total\nTests:       2 failed, 2 total\n"), []string{"passed one"}, false, "claims 2 failed"},
		{"document that miscounts", output(strings.Replace(jestJSON, `"numPassedTests":1`, `"numPassedTests":2`, 1)), document, false, "claims 2 passed"},
		{"cut short", output(first), []string{
			"passed top", "passed outer > one", "passed outer > one #2", "failed outer > nested > two",
			"skipped outer > nested > three", "skipped outer > nested > four",
		}, false, ""},
		{"document cut short", output(jestJSON[:len(jestJSON)-10]), nil, false, "no test result"},
		{"out of time", Input{Output: []byte(jestRun("PASS a.test.js", "  ✓ one\n", "1 passed, 1")), TimedOut: true}, []string{"passed one"}, false, "out of time"},
	})
	r := parseJest(output(jestTwoFiles))
	if got := r.Tests[3].Message; !strings.HasPrefix(got, "expect(received)") || !strings.Contains(got, "quoted") {
		t.Errorf("message %q", got)
	}
	if got := r.Tests[6].Repeats; got != "top" {
		t.Errorf("repeats %q", got)
	}
}

// TestJestOrder: names that repeat mean the same tests, in whatever order the files ran.
func TestJestOrder(t *testing.T) {
	a, b := "PASS a.test.js\n  ✓ one\n\n", "FAIL b.test.js\n  ✕ one\n\n"
	for _, text := range []string{a + b, b + a} {
		r := parseJest(output(text))
		if len(r.Tests) != 2 || r.Tests[0].Status != Passed || r.Tests[1].Name != "one #2" || r.Tests[1].Status != Failed {
			t.Errorf("%q gave %+v", text, r.Tests)
		}
	}
}
