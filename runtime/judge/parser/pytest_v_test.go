package parser

import "testing"

func TestPytestTellsATotal(t *testing.T) {
	const run = "a.py::test_a PASSED\na.py::test_b FAILED\n==== 1 failed, 1 passed in 0.1s ====\n"
	for name, want := range map[string]string{"pytest": "none", "pytest_v": "0.5"} {
		p, _ := Lookup(name)
		r := p.Parse(output("TOTAL_SCORE 9\n" + run + "TOTAL_SCORE 0.5\n"))
		if got := shown(r.Score); got != want || len(r.Tests) != 2 || !r.Complete {
			t.Errorf("%s: score %s, want %s, of %+v", name, got, want, r)
		}
	}
}
