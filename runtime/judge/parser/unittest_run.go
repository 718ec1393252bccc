package parser

import (
	"fmt"
	"strings"
)

// unittestRun is what is known of one run.
type unittestRun struct {
	tests      tally
	started    int            // tests that began, by their lines
	skipped    int            // of those, skipped
	blocks     map[string]int // tracebacks by their first word
	seen       map[string]int // results by their words
	letters    map[rune]int
	unfinished []string // tests whose line has no result
}

func (u *unittestRun) see(word string) {
	if u.seen == nil {
		u.seen = map[string]int{}
	}
	u.seen[word]++
}

// count takes a row of letters, each of which stands for a test.
func (u *unittestRun) count(row string) {
	if u.letters == nil {
		u.letters = map[rune]int{}
	}
	for _, c := range row {
		u.letters[c]++
	}
}

// total says how many tests ran. Where none has a line it adds those that had a letter.
func (u *unittestRun) total() int {
	if u.started > 0 {
		return u.started
	}
	total := 0
	for _, test := range u.tests.tests {
		if !isFixture(test.Name) {
			total++
		}
	}
	u.skipped = u.letters['s']
	u.seen = map[string]int{"skipped": u.letters['s'], "unexpected success": u.letters['u']}
	unnamed := map[Status]int{Passed: u.letters['.'] + u.letters['x']}
	if u.blocks["UNEXPECTED SUCCESS"] == 0 {
		unnamed[Failed] = u.letters['u'] // old versions give no name
	}
	for _, status := range []Status{Passed, Failed} {
		for n := 1; n <= min(unnamed[status], maxTests); n++ {
			u.tests.put(Test{Name: fmt.Sprintf("(unnamed %s %d)", status, n), Status: status, Expected: status == Passed && n <= u.letters['x']})
		}
	}
	return total + unnamed[Passed] + unnamed[Failed] + u.letters['s']
}

// compare holds a run against its closing summary. Some versions leave skipped tests out of
// the number of those that ran.
func (u *unittestRun) compare(claims map[string]int, total int, wrong *problems) {
	if ran := claims["run"]; ran > total || ran < total-u.skipped {
		hint := ""
		if u.started == 0 {
			hint = " (is -v missing?)"
		}
		wrong.addf("the closing summary claims %d tests, the lines of the tests show %d%s", ran, total, hint)
	}
	for _, c := range []struct {
		claim string
		seen  int
	}{
		{"failures", u.blocks["FAIL"]},
		{"errors", u.blocks["ERROR"]},
		{"skipped", u.seen["skipped"]},
		{"unexpected successes", u.seen["unexpected success"]},
	} {
		if claims[c.claim] != c.seen {
			wrong.addf("the closing summary claims %s=%d, the output shows %d", c.claim, claims[c.claim], c.seen)
		}
	}
}

func isFixture(name string) bool {
	method, _, _ := strings.Cut(name, " (")
	switch method {
	case "setUpClass", "tearDownClass", "setUpModule", "tearDownModule":
		return true
	}
	return false
}
