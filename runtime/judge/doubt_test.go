package judge

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/container/containertest"

	"github.com/assayd/assayd/runtime/judge/parser"
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
		judged := func(command string) Report {
			tk := task.Task{Judge: task.Judge{Parser: f.parser, Expect: f.expect, Command: task.Command{Shell: command}}}
			seen := p.Parse(parser.Input{Output: []byte(f.forged + f.own)})
			return verdict(tk, observation{parser: p, result: seen, starts: startsOf(tk)})
		}
		if r := judged(f.command); r.Status != StatusInvalid || r.Valid || !strings.Contains(r.Problem, "the command starts 1") {
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
		run := commandRun{text: f.command, runners: parser.Runners(f.command), output: []byte(f.forged + f.own)}
		r := commandsVerdict(task.Task{FailToPass: []string{f.command}}, []commandRun{run}, "")
		if r.Status != StatusTampered || r.Passed != 0 {
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
			r := verdict(tk, observation{parser: p, result: p.Parse(parser.Input{Output: []byte(text), Cut: cut}), cut: cut})
			if resolves(&r) == cut || r.Valid == cut {
				t.Errorf("%s, cut %t: %s, valid %t, rate %v (%s)", name, cut, r.Status, r.Valid, r.PassRate, r.Problem)
			}
		}
		for _, r := range parser.Runners(map[string]string{"pytest": "pytest", "gotest": "go test -v", "cargo": "cargo test", "jest": "jest --verbose", "mocha": "mocha", "unittest": "python -m unittest"}[name]) {
			run := commandRun{text: name, runners: []parser.Runner{r}, output: []byte(text), cut: true}
			if test, _ := run.verdict(); test.Status != parser.Failed {
				t.Errorf("%s as a command: %s", name, test.Status)
			}
		}
	}
}

// What says that output is missing is what keeps it.
func TestACaptureSaysThatItIsCut(t *testing.T) {
	c := &capture{half: 10}
	_, _ = c.Write(bytes.Repeat([]byte("x"), 20))
	if c.cut() {
		t.Error("nothing is missing yet")
	}
	_, _ = c.Write([]byte("y"))
	if !c.cut() {
		t.Error("a byte is missing")
	}
}

// Only what the judge itself expects to fail may.
func TestOnlyTheJudgesFilesExpectFailures(t *testing.T) {
	const pytest = "tests/test_a.py::test_a XFAIL (why)\ntests/test_b.py::test_b PASSED\n1 passed, 1 xfailed in 0.1s\n"
	quiet := "x.\n1 passed, 1 xfailed in 0.1s\n"
	short := "x.\n=== short test summary info ===\nXFAIL tests/test_a.py::test_a - why\nPASSED tests/test_b.py::test_b\n1 passed, 1 xfailed in 0.1s\n"
	unit := "test_a (pkg.test_a.A.test_a) ... expected failure\ntest_b (pkg.test_b.B.test_b) ... ok\n\n" + strings.Repeat("-", 70) + "\nRan 2 tests in 0.001s\n\nOK (expected failures=1)\n"
	for i, tc := range []struct {
		parser, output string
		files          []string // that expect failures
		passed         int
	}{
		{"pytest", pytest, nil, 1},
		{"pytest", pytest, []string{"tests/test_a.py"}, 2},
		{"pytest", pytest, []string{"tests/test_b.py", "src/a.py"}, 1},
		{"pytest", pytest, []string{"tests/conftest.py"}, 2},
		{"pytest", quiet, nil, 1},
		{"pytest", short, nil, 1},
		{"pytest", short, []string{"sub/tests/test_a.py"}, 2},
		{"unittest", unit, nil, 1},
		{"unittest", unit, []string{"pkg/test_a.py"}, 2},
		{"django", unit, []string{"src/pkg/test_a.py"}, 2},
		{"django", unit, []string{"pkg/test_b.py"}, 1},
		{"unittest", "x.\n" + strings.Repeat("-", 70) + "\nRan 2 tests in 0.001s\n\nOK (expected failures=1)\n", nil, 1},
	} {
		p, _ := parser.Lookup(tc.parser)
		files := map[string]bool{}
		for _, name := range tc.files {
			files[name] = true
		}
		r := verdict(task.Task{Judge: task.Judge{Parser: tc.parser}}, observation{
			parser: p, result: p.Parse(parser.Input{Output: []byte(tc.output)}),
			expects: func(name string) bool { return marked(files, name) },
		})
		if r.Passed != tc.passed || r.TotalTests != 2 {
			t.Errorf("%d, %s: %d of %d passed (%s): %s", i, tc.parser, r.Passed, r.TotalTests, r.Problem, fmt.Sprint(r.Tests))
		}
	}
}

// A short name of go test is that of the package in which the judge has it.
func TestAShortNameOfGoTestHasItsPackage(t *testing.T) {
	p := &profile{
		Files:   []string{"b/b_test.go", "c/c_test.go", "root_test.go"},
		Content: map[string][]byte{"b/b_test.go": []byte("package b\n\nfunc TestB(t *testing.T) {}\n"), "c/c_test.go": []byte("package c\nfunc TestC(t *testing.T) {}\n"), "root_test.go": []byte("package m\n\nfunc TestRoot(t *testing.T) {}\n")},
		Present: map[string]bool{"c/go.mod": false},
	}
	elsewhere := goElsewhere(p)
	for name, want := range map[string]bool{
		"m/b::TestB": false, "m/b::TestB/sub": false, "m/a::TestB": true, "m/a::TestB/sub": true, "m/a::TestOther": false, "other::TestC": false, "m::TestRoot": false, "TestB": false,
	} {
		if got := elsewhere(name); got != want {
			t.Errorf("%s: %t", name, got)
		}
	}
	tk := task.Task{Judge: task.Judge{Parser: "gotest", Expect: []string{"TestB"}}}
	for pkg, want := range map[string]int{"m/a": 0, "m/b": 1} {
		r := verdict(tk, observation{parser: parser.Parser{Name: "gotest"}, elsewhere: elsewhere, result: parser.Result{Complete: true, Tests: []parser.Test{{Name: pkg + "::TestB", Status: parser.Passed}}}})
		if r.Passed != want {
			t.Errorf("%s: %d passed", pkg, r.Passed)
		}
	}
	p.Files = append(p.Files, "large_test.go")
	if goElsewhere(p)("m/a::TestB") {
		t.Error("not all files are known, so nothing is elsewhere")
	}
}

// TestHiddenFilesAreComparedAfterARun: one that is another, a link, or gone, is tampering where the
// round counts for something; what runs write to is not looked at.
func TestHiddenFilesAreComparedAfterARun(t *testing.T) {
	for name, tc := range map[string]struct {
		does   func(ctx context.Context, b *bench, c *containertest.FakeContainer)
		status Status
	}{
		"nothing": {func(context.Context, *bench, *containertest.FakeContainer) {}, StatusOK},
		"another test": {func(_ context.Context, _ *bench, c *containertest.FakeContainer) {
			c.WriteFile("/work/tests/test_a.py", []byte("pass"))
		}, StatusTampered},
		"another answer": {func(_ context.Context, _ *bench, c *containertest.FakeContainer) {
			c.WriteFile("/work/data/want.json", []byte("{}"))
		}, StatusTampered},
		"a link": {func(ctx context.Context, b *bench, c *containertest.FakeContainer) {
			linkOver(ctx, t, b, c, "tests/test_a.py")
		}, StatusTampered},
		"a database, and a log": {func(_ context.Context, _ *bench, c *containertest.FakeContainer) {
			c.WriteFile("/work/data/x.db", []byte("x"))
			c.WriteFile("/work/tests/x.log", []byte("x"))
		}, StatusOK},
		"what was made of others": {func(_ context.Context, _ *bench, c *containertest.FakeContainer) {
			c.WriteFile("/work/tests/build/a.py", []byte("x"))
		}, StatusOK},
		"a file of its own": {func(_ context.Context, _ *bench, c *containertest.FakeContainer) {
			c.WriteFile("/work/tests/new.py", []byte("x"))
		}, StatusOK},
	} {
		t.Run(name, func(t *testing.T) {
			for _, passes := range []bool{true, false} {
				synctest.Test(t, func(t *testing.T) {
					b := newBench(t)
					image := b.fake.AddImage("hidden:1", container.ImageConfig{}, map[string]string{
						"/hold": "", "/judge": "", "/etc/passwd": "root:x:0:0::/:\n", "/work/src/old": "", "/work/tests/test_a.py": "assert False", "/work/data/want.json": "[]",
						"/work/data/x.db": "", "/work/tests/x.log": "", "/work/tests/build/a.py": "",
					})
					b.open("t", func(s *Session) {
						s.JudgeImage, s.HiddenPaths = image.ID, []string{"data/want.json", "data/x.db"}
						s.Task.Submit.Exclude = []string{"tests/"}
					})
					b.fake.HandleExec(func(ctx context.Context, c *containertest.FakeContainer, cmd container.Command) int {
						tc.does(ctx, b, c)
						_, _ = io.WriteString(cmd.Stdout, map[bool]string{true: "a passed", false: "a failed"}[passes])
						return 0
					})
					want := tc.status
					if !passes {
						want = StatusOK // it won nothing by that
					}
					r := b.judgeOne(t, "t", file("src/answer", "x")).Report
					if r.Status != want || r.Tampered != (want == StatusTampered) || resolves(r) != (passes && want == StatusOK) {
						t.Errorf("passes %t: %s, rate %v (%s), want %s", passes, r.Status, r.PassRate, r.Problem, want)
					}
				})
			}
		})
	}
}

func linkOver(ctx context.Context, t *testing.T, b *bench, c *containertest.FakeContainer, name string) {
	t.Helper()
	if err := b.fake.CopyTo(ctx, c.ID(), "/work", bytes.NewReader(pack(t, link(name, "/work/src/old")))); err != nil {
		t.Error(err)
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

// A reference run that has shown outcomes has the last word on which failures are expected.
func TestAFailureIsExpectedWhereTheReferenceHadIt(t *testing.T) {
	const output = "tests/test_a.py::test_a XFAIL (why)\ntests/test_a.py::test_b XFAIL\ntests/test_a.py::test_c PASSED\n1 passed, 2 xfailed in 0.1s\n"
	p, _ := parser.Lookup("pytest")
	for name, tc := range map[string]struct {
		outcomes bool
		expected []string
		passed   int
	}{
		"no reference run":   {false, nil, 3},
		"none was expected":  {true, nil, 1},
		"one was":            {true, []string{"tests/test_a.py::test_a"}, 2},
		"a test that passed": {true, []string{"tests/test_a.py::test_c"}, 1},
	} {
		of := task.Task{Judge: task.Judge{Parser: "pytest", Expect: []string{"tests/test_a.py::test_a", "tests/test_a.py::test_b", "tests/test_a.py::test_c"}}}
		g := &grading{session: &session{Session: Session{Task: of, Outcomes: tc.outcomes, Expected: tc.expected}}, profile: &profile{Expecting: map[string]bool{"tests/test_a.py": true}}}
		r := verdict(of, observation{parser: p, result: p.Parse(parser.Input{Output: []byte(output)}), expects: g.mayFail})
		if r.Passed != tc.passed || r.TotalTests != 3 || len(r.Expected) != tc.passed-1 {
			t.Errorf("%s: %d of %d, expected %v: %v", name, r.Passed, r.TotalTests, r.Expected, r.Tests)
		}
		if private := g.session.privately(task.Private{}); private.Outcomes {
			t.Errorf("%s: the private set has other tests", name)
		}
	}
}
