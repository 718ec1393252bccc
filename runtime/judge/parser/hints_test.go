package parser

import (
	"fmt"
	"strings"
	"testing"
	"time"
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
		} else if Doubted("x; "+got) != strings.Contains(tt.want, "finds") {
			t.Errorf("%q is a doubt: %t", got, Doubted(got))
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

// TestHintsTakeALinearTime: an output is its submission's, and what it costs to look at it is bounded.
func TestHintsTakeALinearTime(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := 0; b.Len() < hintBytes; i++ {
		fmt.Fprintf(&b, "=== RUN   T%d\n--- PASS: T%d (0.00s)\n", i, i)
	}
	p, _ := Lookup("gotest")
	begun := time.Now()
	if got := Unfinished(p, []byte(b.String())); got != "" {
		t.Errorf("%q has ended, too", got)
	}
	if took := time.Since(begun); took > 5*time.Second { // 19 s with a look at the whole for each name; 20 ms are usual
		t.Errorf("it took %s", took)
	}
}
