package parser

import (
	"fmt"
	"strings"
)

// severity orders statuses from best to worst: of two results of one name the worse counts.
func severity(s Status) int {
	switch s {
	case Passed:
		return 0
	case Skipped:
		return 1
	case Failed:
		return 2
	default:
		return 3
	}
}

// tally gathers results per test: one entry a name, in the order of first sight, bounded.
type tally struct {
	tests []Test
	seen  []uint8 // parallel to tests: a bit for every status the name was given
	index map[string]int
	over  bool // more than maxTests names
}

// add records that the named test came out with status.
func (t *tally) add(name string, status Status, message string) {
	t.put(Test{Name: name, Status: status, Message: message})
}

// put records a test; an empty name is ignored.
func (t *tally) put(test Test) {
	test.Name, test.Message = cleanName(test.Name), cleanText(test.Message, maxMessage)
	if test.Name == "" {
		return
	}
	at, known := t.index[test.Name]
	if !known {
		t.insert(test)
		return
	}
	t.seen[at] |= 1 << severity(test.Status)
	old := t.tests[at]
	switch {
	case severity(test.Status) > severity(old.Status):
		t.tests[at] = test
	case test.Status == old.Status && old.Message == "":
		t.tests[at].Message = test.Message
	}
	t.tests[at].Expected = t.tests[at].Expected || test.Expected
}

func (t *tally) insert(test Test) {
	if len(t.tests) == maxTests {
		t.over = true
		return
	}
	if t.index == nil {
		t.index = map[string]int{}
	}
	t.index[test.Name] = len(t.tests)
	t.tests = append(t.tests, test)
	t.seen = append(t.seen, 1<<severity(test.Status))
}

// has says whether the name was recorded.
func (t *tally) has(name string) bool {
	_, ok := t.index[cleanName(name)]
	return ok
}

// count returns how many names were given that status, whatever else they were given.
func (t *tally) count(status Status) int {
	n := 0
	for _, statuses := range t.seen {
		if statuses&(1<<severity(status)) != 0 {
			n++
		}
	}
	return n
}

// merge adds what another tally gathered.
func (t *tally) merge(other *tally) {
	for _, test := range other.tests {
		t.put(test)
	}
	t.over = t.over || other.over
}

// problems gathers reasons why an output is not (fully) understood; each is kept once and
// the first few are told.
type problems []string

func (p *problems) addf(format string, args ...any) {
	text := cleanText(fmt.Sprintf(format, args...), 300)
	for _, old := range *p {
		if old == text {
			return
		}
	}
	if len(*p) < 8 {
		*p = append(*p, text)
	}
}

// result closes a tally. It is complete only if nothing was wrong and the command was not
// stopped.
func (t *tally) result(in Input, complete bool, wrong problems) Result {
	if t.over {
		wrong.addf("more than %d tests", maxTests)
	}
	if in.Cut {
		wrong.addf("a part of the output is missing")
	}
	if in.TimedOut {
		wrong.addf("the command ran out of time")
	}
	if len(t.tests) == 0 && len(wrong) == 0 {
		wrong.addf("no test result found in the output")
	}
	return Result{
		Tests:    t.tests,
		Complete: complete && len(wrong) == 0,
		Problem:  strings.Join(wrong, "; "),
	}
}
