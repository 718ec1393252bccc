package parser

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"
)

// samples holds output of each format, short and as its runner writes it.
func samples() map[string]string {
	return map[string]string{
		"cargo":           "running 2 tests\ntest a::one ... ok\ntest two ... FAILED\n\ntest result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n",
		"ctrf":            ctrfReportText,
		"django":          "test_one (a.T.test_one) ... ok\n\n----------------------------------------------------------------------\nRan 1 test in 0.001s\n\nOK\n",
		"exit_code":       "",
		"gotest":          goVerbose,
		"jest":            jestTwoFiles,
		"junit":           junitNested,
		"mocha":           mochaSpec,
		"node":            nodeNested,
		"pytest":          pytestVerbose,
		"pytest_v":        pytestQuiet,
		"reward":          `{"reward": 0.5}`,
		"score_sum":       scoreBlock,
		"structured_json": `{"score":1,"details":[{"name":"a","status":"PASSED"}],"metrics":{"m":1}}`,
		"tap":             tapFourteen,
		"unittest":        "test_one (a.T.test_one) ... ok\ntest_two (a.T.test_two) ... skipped 'no'\n\n----------------------------------------------------------------------\nRan 2 tests in 0.001s\n\nOK (skipped=1)\n",
	}
}

func TestEveryParserHasASample(t *testing.T) {
	for _, name := range Names() {
		if _, ok := samples()[name]; !ok {
			t.Errorf("no sample of the output that %s reads", name)
		}
	}
}

// FuzzEveryParser runs each parser over any output, and over it as each of its files. The
// seeds are each sample for each parser: every parser meets the output of every runner.
func FuzzEveryParser(f *testing.F) {
	names := Names()
	texts := append(slices.Collect(maps.Values(samples())), goJSON, tapeFlat, jestJSON, mochaJSON)
	for which := range names {
		for _, text := range texts {
			f.Add([]byte(text), uint8(which), false)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte, which uint8, late bool) {
		p, _ := Lookup(names[int(which)%len(names)])
		checkResult(t, p, Input{Output: data, ExitCode: int(which), TimedOut: late})
		for _, file := range p.Files {
			checkResult(t, p, Input{Files: map[string][]byte{file: data}, TimedOut: late})
		}
	})
}

// checkResult checks what holds of every result, whatever was read.
func checkResult(t *testing.T, p Parser, in Input) {
	t.Helper()
	r := p.Parse(in)
	checkBounds(t, r)
	for _, test := range r.Tests {
		switch test.Status {
		case Passed, Failed, Errored, Skipped:
		default:
			t.Fatalf("%s: unknown status %q", p.Name, test.Status)
		}
		if len(test.Repeats) > maxName || test.Repeats == test.Name {
			t.Fatalf("%s: %q repeats %q", p.Name, test.Name, test.Repeats)
		}
		for _, n := range []*float64{test.Score, test.Weight} {
			if n != nil && *n-*n != 0 {
				t.Fatalf("%s: test %s has the number %v", p.Name, test.Name, *n)
			}
		}
	}
	if in.TimedOut && r.Complete {
		t.Fatalf("%s: complete although the command ran out of time", p.Name)
	}
	if _, err := json.Marshal(r); err != nil {
		t.Fatalf("%s: the result cannot be written: %v", p.Name, err)
	}
	again := p.Parse(in)
	if len(again.Tests) != len(r.Tests) || again.Complete != r.Complete {
		t.Fatalf("%s: read twice, another result", p.Name)
	}
}
