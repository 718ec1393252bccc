package parser

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// scoreSumParser reads the lines CASE, CASES_OK, CASES_TOTAL and TOTAL_SCORE, which the judge
// command itself writes.
//
// The last block counts: cases, then the total behind them. So what a submission prints
// before the judge does is nothing, and what it prints behind it is not complete unless it
// is a whole block. A total before all cases counts where no other follows and the command
// ended well: some graders begin with it.
func scoreSumParser() Parser {
	return Parser{Name: "score_sum", Parse: parseScoreSum}
}

func parseScoreSum(in Input) Result {
	r := newScoreReader()
	for line := range lines(in.Output) {
		r.line(line)
	}
	return r.result(in)
}

// scoreReader reads blocks line by line and keeps the last.
type scoreReader struct {
	entry, count, total, compile *regexp.Regexp

	tests   tally
	ids     map[string]bool
	ok, all int            // cases of the block
	claims  map[string]int // CASES_OK and CASES_TOTAL
	closed  bool           // the total has come
	score   *float64
	early   *float64 // a total before the cases
	broken  bool     // the output tells of a compile error
	wrong   problems
}

func newScoreReader() *scoreReader {
	r := &scoreReader{
		entry:   regexp.MustCompile(`^CASE (\S+) ([A-Z][A-Z_]*)(?: score=(\S+))?(?:\s.*)?$`),
		count:   regexp.MustCompile(`^(CASES_OK|CASES_TOTAL)\s+(\d+)\s*$`),
		total:   regexp.MustCompile(`^TOTAL_SCORE\s+(\S+)\s*$`),
		compile: regexp.MustCompile(`\bCE\b|(?i:compile)`),
	}
	r.begin()
	return r
}

func (r *scoreReader) begin() {
	r.tests, r.ids, r.claims, r.wrong = tally{}, map[string]bool{}, map[string]int{}, nil
	r.ok, r.all, r.closed, r.score, r.early = 0, 0, false, nil, nil
}

func (r *scoreReader) line(line string) {
	if !r.broken && r.compile.MatchString(line) {
		r.broken = true
	}
	if m := match(r.entry, line, strings.HasPrefix(line, "CASE ")); m != nil {
		if r.closed {
			early := r.score
			if r.all > 0 {
				early = nil
			}
			r.begin()
			r.early = early
		}
		r.add(m[1], m[2], m[3])
		return
	}
	if m := match(r.count, line, strings.HasPrefix(line, "CASES_")); m != nil {
		r.claims[m[1]] = atoi(m[2])
		return
	}
	if m := match(r.total, line, strings.HasPrefix(line, "TOTAL_SCORE")); m != nil && isNumber(m[1]) {
		r.closed, r.score = true, finiteNumber(m[1])
	}
}

// add records a case. Its name tells how it failed, so that an expected name is not seen then.
func (r *scoreReader) add(id, word, score string) {
	if r.ids[id] {
		r.wrong.addf("case %s is reported twice", id)
	} else if len(r.ids) < maxTests {
		r.ids[id] = true
	}
	r.all++
	test := Test{Name: "case_" + id, Status: Passed, Score: finiteNumber(score)}
	if word == "OK" {
		r.ok++
	} else {
		test.Name, test.Status = fmt.Sprintf("case_%s_%s", id, word), Failed
	}
	r.tests.put(test)
}

func (r *scoreReader) result(in Input) Result {
	for _, c := range []struct {
		word string
		seen int
	}{{"CASES_OK", r.ok}, {"CASES_TOTAL", r.all}} {
		if claim, ok := r.claims[c.word]; ok && claim != c.seen {
			r.wrong.addf("%s is %d, the lines of the cases show %d", c.word, claim, c.seen)
		}
	}
	switch {
	case r.all > 0:
	case r.broken:
		r.tests.add("compile", Failed, "no case ran, and the output tells of a compile error")
	default:
		r.tests.add("unknown", Failed, "no case in the output")
	}
	if !r.closed && r.early != nil && in.ExitCode == 0 {
		r.closed, r.score = true, r.early
	}
	if !r.closed {
		r.wrong.addf("no TOTAL_SCORE behind the cases")
	}
	result := r.tests.result(in, r.closed, r.wrong)
	result.Score = r.score
	return result
}

// totalScore is the last TOTAL_SCORE of an output that other lines than cases surround.
func totalScore(output []byte) *float64 {
	r := newScoreReader()
	for line := range lines(output) {
		if strings.HasPrefix(line, "TOTAL_SCORE") {
			r.line(line)
		}
	}
	return r.score
}

// isNumber says whether a text is a number, infinite ones and what is none included.
func isNumber(text string) bool {
	_, err := strconv.ParseFloat(text, 64)
	return err == nil || errors.Is(err, strconv.ErrRange)
}

// finiteNumber reads a number; what is none, or is not finite, is no score.
func finiteNumber(text string) *float64 {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsInf(n, 0) || math.IsNaN(n) {
		return nil
	}
	return &n
}
