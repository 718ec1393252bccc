package parser

import (
	"regexp"
	"strings"
)

// Claim is what the closing summaries of a runner say, whatever else can be seen of it.
type Claim struct {
	Ends   int // closing summaries; of go test, packages that came to their end
	Passed int
	Failed int  // errors included
	Marks  bool // there is something of the runner, be it no summary
}

// Claim reads the closing summaries in an output.
func (r Runner) Claim(output []byte) Claim {
	form, ok := claimForms()[r.Name]
	if !ok {
		return Claim{}
	}
	var c Claim
	mark, end := regexp.MustCompile(form.mark), regexp.MustCompile(form.end)
	passed, failed := regexp.MustCompile(form.passed), regexp.MustCompile(form.failed)
	for line := range lines(output) {
		if end.MatchString(line) {
			c.Ends++
		}
		c.Marks = c.Marks || mark.MatchString(line)
		if form.within && !end.MatchString(line) {
			continue
		}
		c.Passed += total(passed, line)
		c.Failed += total(failed, line)
	}
	c.Marks = c.Marks || c.Ends > 0
	return c
}

// Proves reports whether what the summaries say is proof enough that tests have run, where
// the tests themselves are not named. That a package is "ok" is none where its tests were
// asked for: it also is when its process ends before the first of them.
func (r Runner) Proves(command string, c Claim) bool {
	if r.Name == "gotest" {
		return c.Ends >= r.Times && strings.Contains(command, "GOFLAGS=")
	}
	return c.Ends >= r.Times && c.Passed > 0
}

// total adds up the numbers that a shape finds in a line; a shape without a number finds one.
func total(shape *regexp.Regexp, line string) (sum int) {
	for _, m := range shape.FindAllStringSubmatch(line, -1) {
		if len(m) > 1 {
			sum += atoi(m[1])
		} else {
			sum++
		}
	}
	return sum
}

// claimForm is how a runner writes its summaries, and what else is its handwriting.
type claimForm struct {
	mark, end, passed, failed string
	within                    bool // the numbers stand in the line that is the end
}

func claimForms() map[string]claimForm {
	python := claimForm{
		mark: `^Ran \d+ tests? in |\.\.\. (?:ok|FAIL|ERROR|skipped .*)$|^[.FEsxu]{2,}$`,
		end:  `^(?:OK|FAILED)(?: \(.*\))?$|^NO TESTS RAN`, passed: `^Ran (\d+) tests? in `, failed: `^FAILED(?: \(|$)`,
	}
	return map[string]claimForm{
		"pytest": {
			mark:   `^=+ test session starts|^collected \d+ item|::\S+ (?:PASSED|FAILED|ERROR)|^(?:PASSED|FAILED|ERROR) \S|^INTERNALERROR`,
			end:    `^(?:=+ )?(?:no tests ran|\d+ [a-z][a-z ]*(?:, \d+ [a-z][a-z ]*)*) in [0-9.]+s?(?: seconds)?(?: \([0-9:, days]+\))?(?: =+)?$`,
			passed: `(\d+) (?:passed|xfailed|xpassed)`, failed: `(\d+) (?:failed|errors?)`, within: true,
		},
		"unittest": python,
		"django":   python,
		"gotest": {
			mark: `^(?:=== RUN|--- |ok  ?\t|FAIL\t|\?   ?\t)`, end: `^(?:ok|FAIL|\?)[ ]*\t\S+`,
			passed: `^ *--- PASS: `, failed: `^ *--- FAIL: |^FAIL\t`,
		},
		"cargo": {
			mark: `^running \d+ tests?$|^test \S.* \.\.\. |^error(?:\[|:)`, end: `^test result: `,
			passed: `(\d+) passed`, failed: `(\d+) failed`, within: true,
		},
		"jest": {
			mark: `^ ?(?:PASS|FAIL) +\S|^Test Suites?: |^No tests found`, end: `^Tests: +.*\d+ total$`,
			passed: `(\d+) passed`, failed: `(\d+) failed`, within: true,
		},
		"mocha": {
			mark: `^ +(?:✔|✓|√) |^  \d+ (?:passing|failing|pending)`, end: `^  \d+ passing(?: \(.*\))?$`,
			passed: `^  (\d+) passing`, failed: `^  (\d+) failing`,
		},
		"node": {
			mark: `^TAP version|^(?:#|ℹ) tests \d|^(?:not )?ok \d`, end: `^(?:#|ℹ) pass \d+$`,
			passed: `^(?:#|ℹ) pass (\d+)$`, failed: `^(?:#|ℹ) (?:fail|cancelled) (\d+)$`,
		},
	}
}
