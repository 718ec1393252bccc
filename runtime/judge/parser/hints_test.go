package parser

import (
	"strings"
	"testing"
)

func TestAHintNamesALikelierParser(t *testing.T) {
	t.Parallel()
	const pytest = "tests/test_a.py::test_b PASSED [100%]\n=== short test summary info ===\nPASSED tests/test_a.py::test_b\n==== 1 passed in 0.01s ====\n"
	for _, tt := range []struct{ parser, output, want string }{
		{"gotest", pytest, `"pytest" finds 1 tests`},
		{"pytest", "=== RUN   TestA\n--- PASS: TestA (0.00s)\n=== RUN   TestB\n--- FAIL: TestB (0.00s)\nFAIL\n", `"gotest" finds 2 tests`},
		{"pytest", "TAP version 13\nok 1 - a\n1..1\n", `finds 1 tests`},
		{"pytest", " \n", "the command printed nothing"},
		{"pytest", "hello\n", ""},
		{"pytest", strings.Repeat("x\n", 1<<20) + "\nrunning 1 test\ntest a::b ... ok\n\ntest result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n", `"cargo" finds 1 tests`},
	} {
		p, _ := Lookup(tt.parser)
		if got := Hint(p, Input{Output: []byte(tt.output)}); !strings.Contains(got, tt.want) || tt.want == "" && got != "" {
			t.Errorf("%s, %.40q: %q", tt.parser, tt.output, got)
		}
	}
}

func TestATestThatDoesNotEndIsNamed(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ parser, output, want string }{
		{"gotest", "=== RUN   TestA\n--- PASS: TestA (0.00s)\n=== RUN   TestB\n=== RUN   TestB/one\n    --- PASS: TestB/one (0.00s)\n", "TestB"},
		{"gotest", "=== RUN   TestA\n--- PASS: TestA (0.00s)\n", ""},
		{"pytest", "tests/test_a.py::test_a PASSED [ 50%]\ntests/test_a.py::test_b ", "tests/test_a.py::test_b"},
		{"pytest", "tests/test_a.py::test_a PASSED [ 50%]\n", ""},
		{"unittest", "test_a (tests.A.test_a) ... ok\ntest_b (tests.A.test_b) ... ", "test_b (tests.A.test_b)"},
		{"cargo", "test a ... ok\ntest b::c has been running for over 60 seconds\n", "b::c"},
		{"jest", "x", ""},
	} {
		p, _ := Lookup(tt.parser)
		if got := Unfinished(p, []byte(tt.output)); got != tt.want {
			t.Errorf("%s, %q: %q, want %q", tt.parser, tt.output, got, tt.want)
		}
	}
}
