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

	"github.com/assayd/assayd/runtime/judge/judgetest"
	"github.com/assayd/assayd/runtime/judge/parser"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/judge/sandbox"
	"github.com/assayd/assayd/runtime/judge/scoring"
	"github.com/assayd/assayd/runtime/task"
)

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
		r := scoring.Verdict(task.Task{Judge: task.Judge{Parser: tc.parser}}, scoring.Observation{
			Parser: p, Result: p.Parse(parser.Input{Output: []byte(tc.output)}),
			Expects: func(name string) bool { return scoring.AllowsFailure(files, name) },
		})
		if r.Passed != tc.passed || r.TotalTests != 2 {
			t.Errorf("%d, %s: %d of %d passed (%s): %s", i, tc.parser, r.Passed, r.TotalTests, r.Problem, fmt.Sprint(r.Tests))
		}
	}
}

// TestHiddenFilesAreComparedAfterARun: one that is another, a link, or gone, is tampering where the
// round counts for something; what runs write to is not looked at.
func TestHiddenFilesAreComparedAfterARun(t *testing.T) {
	for name, tc := range map[string]struct {
		does   func(ctx context.Context, b *fixture, c *containertest.FakeContainer)
		status round.Status
	}{
		"nothing": {func(context.Context, *fixture, *containertest.FakeContainer) {}, round.StatusOK},
		"another test": {func(_ context.Context, _ *fixture, c *containertest.FakeContainer) {
			c.WriteFile("/work/tests/test_a.py", []byte("pass"))
		}, round.StatusTampered},
		"another answer": {func(_ context.Context, _ *fixture, c *containertest.FakeContainer) {
			c.WriteFile("/work/data/want.json", []byte("{}"))
		}, round.StatusTampered},
		"a link": {func(ctx context.Context, b *fixture, c *containertest.FakeContainer) {
			linkOver(ctx, t, b, c, "tests/test_a.py")
		}, round.StatusTampered},
		"a database, and a log": {func(_ context.Context, _ *fixture, c *containertest.FakeContainer) {
			c.WriteFile("/work/data/x.db", []byte("x"))
			c.WriteFile("/work/tests/x.log", []byte("x"))
		}, round.StatusOK},
		"what was made of others": {func(_ context.Context, _ *fixture, c *containertest.FakeContainer) {
			c.WriteFile("/work/tests/build/a.py", []byte("x"))
		}, round.StatusOK},
		"a file of its own": {func(_ context.Context, _ *fixture, c *containertest.FakeContainer) {
			c.WriteFile("/work/tests/new.py", []byte("x"))
		}, round.StatusOK},
	} {
		t.Run(name, func(t *testing.T) {
			for _, passes := range []bool{true, false} {
				synctest.Test(t, func(t *testing.T) {
					b := newFixture(t)
					image := b.fake.AddImage("hidden:1", container.ImageConfig{}, map[string]string{
						"/hold": "", "/judge": "", "/etc/passwd": "root:x:0:0::/:\n", "/work/src/old": "", "/work/tests/test_a.py": "assert False", "/work/data/want.json": "[]",
						"/work/data/x.db": "", "/work/tests/x.log": "", "/work/tests/build/a.py": "",
					})
					b.open("t", func(s *round.Session) {
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
						want = round.StatusOK // it won nothing by that
					}
					r := b.judgeOne(t, "t", judgetest.File("src/answer", "x")).Report
					if r.Status != want || r.Tampered != (want == round.StatusTampered) || judgetest.Resolves(r) != (passes && want == round.StatusOK) {
						t.Errorf("passes %t: %s, rate %v (%s), want %s", passes, r.Status, r.PassRate, r.Problem, want)
					}
				})
			}
		})
	}
}

func linkOver(ctx context.Context, t *testing.T, b *fixture, c *containertest.FakeContainer, name string) {
	t.Helper()
	if err := b.fake.CopyTo(ctx, c.ID(), "/work", bytes.NewReader(judgetest.Pack(t, judgetest.Link(name, "/work/src/old")))); err != nil {
		t.Error(err)
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
		g := &grading{session: &session{Session: round.Session{Task: of, Outcomes: tc.outcomes, Expected: tc.expected}}, profile: &sandbox.Profile{Expecting: map[string]bool{"tests/test_a.py": true}}}
		r := scoring.Verdict(of, scoring.Observation{Parser: p, Result: p.Parse(parser.Input{Output: []byte(output)}), Expects: g.mayFail})
		if r.Passed != tc.passed || r.TotalTests != 3 || len(r.Expected) != tc.passed-1 {
			t.Errorf("%s: %d of %d, expected %v: %v", name, r.Passed, r.TotalTests, r.Expected, r.Tests)
		}
		if private := g.session.privately(task.Private{}); private.Outcomes {
			t.Errorf("%s: the private set has other tests", name)
		}
	}
}
