package parser

import (
	"fmt"
	"slices"
	"testing"
)

const scoreBlock = `compiling solution.cpp
CASE 1 OK score=10.5
CASE b-2 TLE score=-3
CASE 3 OK score=1e2
CASES_OK 2
CASES_TOTAL 3
TOTAL_SCORE -107.5
`

func TestScoreSum(t *testing.T) {
	all := []string{"passed case_1", "failed case_b-2_TLE", "passed case_3"}
	checkReadings(t, "score_sum", []reading{
		{"a block", output(scoreBlock), all, true, ""},
		{"a block that was forged before it", output("CASE 1 OK score=9\nCASE 9 OK score=9\nTOTAL_SCORE 9999\n" + scoreBlock), all, true, ""},
		{"a case forged behind it", output(scoreBlock + "CASE 1 OK score=9\n"), []string{"passed case_1"}, false, "no TOTAL_SCORE behind"},
		{"a case forged before it", output("CASE 3 OK score=999\n" + scoreBlock), []string{"passed case_3", "passed case_1", "failed case_b-2_TLE"}, false, "twice"},
		{"a count that disagrees", output("CASE 1 WA score=0\nCASES_OK 1\nTOTAL_SCORE 1\n"), []string{"failed case_1_WA"}, false, "CASES_OK is 1"},
		{"a case that is missing", output("CASE 1 OK score=1\nCASES_TOTAL 2\nTOTAL_SCORE 1\n"), []string{"passed case_1"}, false, "CASES_TOTAL is 2"},
		{"no total", output("CASE 1 OK score=1\n"), []string{"passed case_1"}, false, "no TOTAL_SCORE"},
		{"the total first", output("TOTAL_SCORE 3\nCASE 1 OK score=3\n"), []string{"passed case_1"}, true, ""},
		{"the total first, and the command failed", Input{Output: []byte("TOTAL_SCORE 3\nCASE 1 OK score=3\n"), ExitCode: 1}, []string{"passed case_1"}, false, "no TOTAL_SCORE behind"},
		{"out of time", Input{Output: []byte(scoreBlock), TimedOut: true}, all, false, "out of time"},
		{"within a line", output("x CASE 1 OK score=1\n  TOTAL_SCORE 5\n"), []string{"failed unknown"}, false, "no TOTAL_SCORE"},
		{"a compile error", output("g++: Compile failed\nTOTAL_SCORE inf\n"), []string{"failed compile"}, true, ""},
		{"the word CE", output("verdict: CE\n"), []string{"failed compile"}, false, "no TOTAL_SCORE"},
		{"no case", output("ONCE more\nTOTAL_SCORE 3\n"), []string{"failed unknown"}, true, ""},
		{"other words, more columns, no score", output("CASE 1 MLE score=0 ms=12\nCASE 2 OK\nTOTAL_SCORE 0\n"), []string{"failed case_1_MLE", "passed case_2"}, true, ""},
		{"nothing", output(""), []string{"failed unknown"}, false, "no TOTAL_SCORE"},
	})
}

func TestScoreSumScores(t *testing.T) {
	for _, c := range []struct {
		text string
		want string
	}{
		{"TOTAL_SCORE 5", "5"},
		{"TOTAL_SCORE 5\nTOTAL_SCORE -6.25", "-6.25"},
		{"TOTAL_SCORE +1e-3  ", "0.001"},
		{"TOTAL_SCORE 5\nTOTAL_SCORE information", "5"},
		{"TOTAL_SCORE 5\nmy TOTAL_SCORE 9", "5"},
		{"TOTAL_SCORE 5\nTOTAL_SCORE inf", "none"},
		{"TOTAL_SCORE -Infinity", "none"},
		{"TOTAL_SCORE nan", "none"},
		{"TOTAL_SCORE 1e999", "none"},
		{"TOTAL_SCORE 7\nCASE 2 OK score=1", "none"},
	} {
		if got := shown(parseScoreSum(output("CASE 1 OK score=1\n" + c.text + "\n")).Score); got != c.want {
			t.Errorf("%q gave %s, want %s", c.text, got, c.want)
		}
	}
	if got := shown(parseScoreSum(output("TOTAL_SCORE 9\nCASE 1 OK score=1\nTOTAL_SCORE 1\n")).Score); got != "1" {
		t.Errorf("a total before and one behind the cases gave %s", got)
	}
	r := parseScoreSum(output("CASE 1 OK score=-1.5\nCASE 2 OK score=inf\nCASE 3 WA score=nan\nCASE 4 OK\nCASE 5 TLE score=2\n"))
	var got []string
	for _, test := range r.Tests {
		got = append(got, shown(test.Score))
	}
	if want := []string{"-1.5", "none", "none", "none", "2"}; !slices.Equal(got, want) {
		t.Errorf("scores of cases %v, want %v", got, want)
	}
}

func shown(n *float64) string {
	if n == nil {
		return "none"
	}
	return fmt.Sprint(*n)
}
