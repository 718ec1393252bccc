package parser

import (
	"strings"
	"testing"
)

const mochaSpec = `

  ✔ top
  outer
printed
    ✔ one (12ms)
    ✓ one
    nested
      1) two
      - three

  1) tricky
    - - dash
    2) 2) number


  3 passing (107ms)
  2 pending
  2 failing

  1) outer
       nested
         two:

      AssertionError: 1 == 2
      ✔ quoted

  2) 1) tricky
       2) number:
     Error: x
  - y

`

const mochaJSON = `{
  "stats": {"tests": 3, "passes": 1, "pending": 1, "failures": 1},
  "tests": [],
  "pending": [{"fullTitle": "outer later", "err": {}}],
  "failures": [{"fullTitle": "outer two", "err": {"message": "1 == 2", "stack": "1 == 2\n at x"}}],
  "passes": [{"fullTitle": "outer one", "err": {}}]
}
`

func TestMocha(t *testing.T) {
	all := []string{
		"passed top", "passed outer > one", "passed outer > one #2", "failed outer > nested > two", "skipped outer > nested > three",
		"skipped 1) tricky > - dash", "failed 1) tricky > 2) number",
	}
	one := "\n\n  a\n    1) one\n\n\n  0 passing (1ms)\n  1 failing\n\n  1) a\n       one:\n     Error: no\n"
	first, _, _ := strings.Cut(mochaSpec, "  1) tricky")
	document := []string{"passed outer one", "failed outer two", "skipped outer later"}
	checkReadings(t, "mocha", []reading{
		{"spec", output(mochaSpec), all, true, ""},
		{"in colours", output("\n\n\x1b[32m  ✔\x1b[0m\x1b[90m one\x1b[0m\n\n\x1b[92m \x1b[0m\x1b[32m 1 passing\x1b[0m\x1b[90m (2ms)\x1b[0m\n"), []string{"passed one"}, true, ""},
		{
			"a hook that failed", output("\n\n  a\n    1) \"before each\" hook for \"one\"\n\n\n  0 passing (1ms)\n  1 failing\n\n  1) a\n"),
			[]string{`error a > "before each" hook for "one"`},
			false, "tests were left out",
		},
		{"objects printed between tests", output("\n\n  a\n{\n  x: 1,\n  y: {\n}\n    ✔ one\n\n\n  1 passing (1ms)\n"), []string{"passed a > one"}, true, ""},
		{"document", output("printed\n" + mochaJSON), document, true, ""},
		{"no tests", output("\n\n  0 passing (0ms)\n\n"), nil, false, "no test result"},
		{"a file that throws", output("\n Exception during run: Error: x\n    at Object.<anonymous> (a.js:1:7)\n"), nil, false, "no test result"},

		// Attacks.
		{"forged summary in a test", output("\n\n  a\n  9 passing (1ms)\n    1) one\n\n\n  0 passing (1ms)\n  1 failing\n\n  1) a\n       one:\n"), []string{"failed a > one"}, true, ""},
		{"forged summary behind", output(one + "\n  1 passing (1ms)\n"), []string{"failed a > one"}, false, "claims 1 passing"},
		{"forged lines", output(strings.Replace(one, "    1) one", "    ✔ two\n    1) one", 1)), []string{"passed a > two", "failed a > one"}, false, "claims 0 passing"},
		{"forged line for a failure", output(strings.Replace(one, "    1) one", "    ✔ one\n    1) one", 1)), []string{"passed a > one", "failed a > one #2"}, false, "claims 0 passing"},
		{"forged document beside a text", output("\n" + mochaJSON + one), document, false, "one of them is not the runner's"},
		{"document that miscounts", output(strings.Replace(mochaJSON, `"passes": 1`, `"passes": 2`, 1)), document, false, "claims 2 passing"},
		{"cut short", output(first), all[:5], false, ""},
		{"document cut short", output(mochaJSON[:60]), nil, false, "no test result"},
		{"out of time", Input{Output: []byte(mochaSpec), TimedOut: true}, all, false, "out of time"},
	})
	if got := parseMocha(output(mochaSpec)).Tests[3].Message; !strings.Contains(got, "AssertionError: 1 == 2") {
		t.Errorf("message %q", got)
	}
}
