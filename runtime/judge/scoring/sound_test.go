package scoring

import (
	"strings"
	"testing"

	"github.com/assayd/assayd/runtime/judge/judgetest"
	"github.com/assayd/assayd/runtime/judge/parser"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/task"
)

// Whole runs of runners as their code under test can print them, with the names that are
// expected, and what the runner itself says when it has run nothing of that.
var forgedRuns = []struct {
	parser, command string
	expect          []string
	forged, own     string
}{
	{
		"pytest", "python3 -m pytest -q tests",
		[]string{"tests/test_a.py::test_a"},
		"PASSED tests/test_a.py::test_a\n1 passed in 0.01s\n", "\n1 deselected in 0.01s\n",
	},
	{
		"pytest", "cd /work && pytest",
		[]string{"tests/test_a.py::test_a"},
		"tests/test_a.py::test_a PASSED [100%]\n",
		"===== test session starts =====\ntests/test_b.py::test_b PASSED [100%]\n===== 1 passed, 1 deselected in 0.01s =====\n",
	},
	{
		"unittest", "python3 -m unittest -v",
		[]string{"test_a (test_a.A.test_a)"},
		"test_a (test_a.A.test_a) ... ok\n\n" + strings.Repeat("-", 70) + "\nRan 1 test in 0.001s\n\nOK\n",
		"test_b (test_b.B.test_b) ... ok\n\n" + strings.Repeat("-", 70) + "\nRan 1 test in 0.001s\n\nOK\n",
	},
	{
		"gotest", "go test -v ./...",
		[]string{"m/a::TestA"},
		"=== RUN   TestA\n--- PASS: TestA (0.00s)\nPASS\nok  \tm/a\t0.01s\n", "PASS\nok  \tm/a\t0.01s [no tests to run]\n",
	},
	{
		"cargo", "cargo test",
		[]string{"a"},
		"     Running unittests src/lib.rs (target/debug/deps/a-1)\n\nrunning 1 test\ntest a ... ok\n\ntest result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n",
		"\nrunning 0 tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n",
	},
	{
		"jest", "npx jest --verbose",
		[]string{"a"},
		"PASS ./a.test.js\n  ✓ a (1 ms)\n\nTest Suites: 1 passed, 1 total\nTests:       1 passed, 1 total\n",
		"PASS ./b.test.js\n  ✓ b (1 ms)\n\nTest Suites: 2 passed, 2 total\nTests:       2 passed, 2 total\n",
	},
	{"mocha", "npx mocha", []string{"a"}, "\n  ✔ a\n\n  1 passing (2ms)\n\n", "\n  ✔ b\n\n  2 passing (2ms)\n\n"},
	{
		"node", "node --test",
		[]string{"a"},
		"# Subtest: a\nok 1 - a\n", "TAP version 13\n# Subtest: b\nok 1 - b\n1..1\n# tests 2\n# suites 0\n# pass 2\n# fail 0\n# cancelled 0\n# skipped 0\n# todo 0\n",
	},
}

// A run that was printed beside the runner's own is not sound, whatever it says; where the
// command starts the runner twice, two runs are what it should show.
func TestTwoRunsForOneStartAreNotSound(t *testing.T) {
	for i, f := range forgedRuns {
		p, _ := parser.Lookup(f.parser)
		judged := func(command string) round.Report {
			tk := task.Task{Judge: task.Judge{Parser: f.parser, Expect: f.expect, Command: task.Command{Shell: command}}}
			seen := p.Parse(parser.Input{Output: []byte(f.forged + f.own)})
			return Verdict(tk, Observation{Parser: p, Result: seen, Starts: StartsOf(tk)})
		}
		if r := judged(f.command); r.Status != round.StatusInvalid || r.Valid || !strings.Contains(r.Problem, "the command starts 1") {
			t.Errorf("%d, %s: %s (%s), %d passed", i, f.parser, r.Status, r.Problem, r.Passed)
		}
		for _, command := range []string{f.command + "; " + f.command, "make test", "for i in 1 2; do " + f.command + "; done"} {
			if r := judged(command); strings.Contains(r.Problem, "the command starts") {
				t.Errorf("%d, %s: %q: %s", i, f.parser, command, r.Problem)
			}
		}
	}
}

// The same of a task that is judged by commands.
func TestTwoRunsForOneStartOfACommandAreTampering(t *testing.T) {
	for i, f := range forgedRuns {
		run := Command{Text: f.command, Runners: parser.Runners(f.command), Output: []byte(f.forged + f.own)}
		r := CommandsVerdict(task.Task{FailToPass: []string{f.command}}, []Command{run}, "")
		if r.Status != round.StatusTampered || r.Passed != 0 {
			t.Errorf("%d, %s: %s (%s), %d passed", i, f.parser, r.Status, r.Problem, r.Passed)
		}
	}
}

// Where a part of the output is missing nothing is sound that rests on it, in any format.
func TestCutOutputIsNeverSound(t *testing.T) {
	whole := map[string]string{
		"pytest": "a.py::t PASSED [100%]\n1 passed in 0.1s\n", "unittest": "t (a.A.t) ... ok\n\n" + strings.Repeat("-", 70) + "\nRan 1 test in 0.001s\n\nOK\n",
		"gotest": "=== RUN   TestA\n--- PASS: TestA (0.00s)\nPASS\nok  \tm\t0.01s\n", "tap": "1..1\nok 1 - a\n", "node": "TAP version 13\nok 1 - a\n1..1\n",
		"cargo": "running 1 test\ntest a ... ok\n\ntest result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n",
		"jest":  "PASS ./a.test.js\n  ✓ a (1 ms)\n\nTest Suites: 1 passed, 1 total\nTests:       1 passed, 1 total\n", "mocha": "\n  ✔ a\n\n  1 passing (2ms)\n\n",
		"junit": `<testsuite tests="1"><testcase classname="A" name="t"/></testsuite>` + "\n", "score_sum": "CASE a OK\nTOTAL_SCORE 3\n",
		"structured_json": `{"valid": true, "pass_rate": 1, "score": 1}` + "\n", "django": "t (a.A.t) ... ok\n\n" + strings.Repeat("-", 70) + "\nRan 1 test in 0.001s\n\nOK\n",
	}
	for name, text := range whole {
		p, _ := parser.Lookup(name)
		for _, cut := range []bool{false, true} {
			tk := task.Task{Judge: task.Judge{Parser: name}}
			r := Verdict(tk, Observation{Parser: p, Result: p.Parse(parser.Input{Output: []byte(text), Cut: cut}), Cut: cut})
			if judgetest.Resolves(&r) == cut || r.Valid == cut {
				t.Errorf("%s, cut %t: %s, valid %t, rate %v (%s)", name, cut, r.Status, r.Valid, r.PassRate, r.Problem)
			}
		}
		for _, r := range parser.Runners(map[string]string{"pytest": "pytest", "gotest": "go test -v", "cargo": "cargo test", "jest": "jest --verbose", "mocha": "mocha", "unittest": "python -m unittest"}[name]) {
			run := Command{Text: name, Runners: []parser.Runner{r}, Output: []byte(text), Cut: true}
			if test, _ := run.verdict(); test.Status != parser.Failed {
				t.Errorf("%s as a command: %s", name, test.Status)
			}
		}
	}
}

// A short name of go test is that of the package in which the judge has it.
func TestAShortNameOfGoTestHasItsPackage(t *testing.T) {
	p := HiddenFiles{
		Names:   []string{"b/b_test.go", "c/c_test.go", "root_test.go"},
		Content: map[string][]byte{"b/b_test.go": []byte("package b\n\nfunc TestB(t *testing.T) {}\n"), "c/c_test.go": []byte("package c\nfunc TestC(t *testing.T) {}\n"), "root_test.go": []byte("package m\n\nfunc TestRoot(t *testing.T) {}\n")},
		Present: map[string]bool{"c/go.mod": false},
	}
	elsewhere := GoElsewhere(p)
	for name, want := range map[string]bool{
		"m/b::TestB": false, "m/b::TestB/sub": false, "m/a::TestB": true, "m/a::TestB/sub": true, "m/a::TestOther": false, "other::TestC": false, "m::TestRoot": false, "TestB": false,
	} {
		if got := elsewhere(name); got != want {
			t.Errorf("%s: %t", name, got)
		}
	}
	tk := task.Task{Judge: task.Judge{Parser: "gotest", Expect: []string{"TestB"}}}
	for pkg, want := range map[string]int{"m/a": 0, "m/b": 1} {
		r := Verdict(tk, Observation{Parser: parser.Parser{Name: "gotest"}, Elsewhere: elsewhere, Result: parser.Result{Complete: true, Tests: []parser.Test{{Name: pkg + "::TestB", Status: parser.Passed}}}})
		if r.Passed != want {
			t.Errorf("%s: %d passed", pkg, r.Passed)
		}
	}
	p.Names = append(p.Names, "large_test.go")
	if GoElsewhere(p)("m/a::TestB") {
		t.Error("not all files are known, so nothing is elsewhere")
	}
}

// A package that does not build can be told of twice, and has not run twice.
func TestABuildThatFailsIsNoRun(t *testing.T) {
	p, _ := parser.Lookup("gotest")
	for _, text := range []string{
		"FAIL\tm/a [build failed]\nFAIL\tm/a [build failed]\n",
		"FAIL\tm/a [build failed]\n{\"Action\":\"fail\",\"Package\":\"m/a\",\"Elapsed\":0,\"FailedBuild\":\"m/a\"}\n",
	} {
		if r := p.Parse(parser.Input{Output: []byte(text)}); r.Runs > 1 {
			t.Errorf("%q: %d runs", text, r.Runs)
		}
	}
}
