package parser

import (
	"strings"
	"testing"
)

const goVerbose = `=== RUN   TestA
=== RUN   TestA/sub_1
    a_test.go:5: --- FAIL: TestInner (0.00s)
        --- FAIL: TestInner (0.00s)
no line end--- PASS: TestB (0.00s)
--- FAIL: TestA (0.00s)
    --- FAIL: TestA/sub_1 (0.00s)
=== RUN   TestB
no line end--- PASS: TestB (0.00s)
=== RUN   TestC
    a_test.go:9: later
--- SKIP: TestC (0.00s)
FAIL
FAIL	example.org/a	0.003s
=== RUN   TestA
--- PASS: TestA (0.00s)
PASS
ok  	example.org/b	(cached)
?   	example.org/c	[no test files]
FAIL
`

const goJSON = `{"Action":"start","Package":"p"}
{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Test":"TestA","Output":"=== RUN   TestA\n"}
{"Action":"output","Package":"p","Test":"TestA","Output":"    a_test.go:3: why\n"}
{"Action":"output","Package":"p","Test":"TestA","Output":"--- FAIL: TestA (0.00s)\n"}
{"Action":"fail","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Output":"FAIL\n"}
{"Action":"fail","Package":"p","Elapsed":0.1}
`

// goEvents writes the events of a package whose only test passed.
func goEvents(middle string) string {
	return `{"Action":"start","Package":"p"}
{"Action":"run","Package":"p","Test":"TestA"}
` + middle + `{"Action":"output","Package":"p","Output":"PASS\n"}
{"Action":"pass","Package":"p"}
`
}

const goPassed = `{"Action":"output","Package":"p","Test":"TestA","Output":"--- PASS: TestA (0.00s)\n"}
{"Action":"pass","Package":"p","Test":"TestA"}
`

func TestGoTest(t *testing.T) {
	checkReadings(t, "gotest", []reading{
		{"text", output(goVerbose), []string{
			"failed example.org/a::TestA", "failed example.org/a::TestA/sub_1",
			"passed example.org/a::TestB", "skipped example.org/a::TestC", "passed example.org/b::TestA",
		}, true, ""},
		{"events", output(goJSON), []string{"failed p::TestA"}, true, ""},
		{"events of a pass", output(goEvents(goPassed)), []string{"passed p::TestA"}, true, ""},
		{"a test that never ended", output(goEvents("")), []string{"error p::TestA"}, false, "never ended"},
		{
			"a pass that the test did not say", output(goEvents(`{"Action":"pass","Package":"p","Test":"TestA"}` + "\n")),
			[]string{"error p::TestA"},
			false, "never ended",
		},
		{"does not build", output(`{"ImportPath":"p [p.test]","Action":"build-fail"}
{"Action":"start","Package":"p"}
{"Action":"output","Package":"p","Output":"FAIL\tp [build failed]\n"}
{"Action":"fail","Package":"p","FailedBuild":"p [p.test]"}
`), []string{"error p"}, false, "does not build"},
		{"does not build, as text", output("# p [p.test]\n./a.go:1:1: wrong\nFAIL\tp [build failed]\nFAIL\n"), []string{"error p"}, false, "does not build"},
		{"panic", output("=== RUN   TestA\n--- FAIL: TestA (0.00s)\npanic: x\n\nFAIL\tp\t0.01s\nFAIL\n"), []string{"failed p::TestA"}, false, "before its end"},
		{"init that panics", output("panic: x\nFAIL\tp\t0.01s\nFAIL\n"), []string{"error p"}, false, "without a failing test"},
		{"init that exits", output("ok  \tp\t0.004s\n"), nil, false, "without naming a test"},
		{"no tests to run", output("testing: warning: no tests to run\nPASS\nok  \tp\t0.004s [no tests to run]\n"), nil, false, "no test result"},
		{"a binary by itself", output("=== RUN   TestA\n--- PASS: TestA (0.00s)\nPASS\n"), []string{"passed TestA"}, true, ""},
		{
			"cut short",
			Input{Output: []byte("=== RUN   TestA\n--- PASS: TestA (0.00s)\n=== RUN   TestB\n"), TimedOut: true},
			[]string{"passed TestA", "error TestB"},
			false, "out of time",
		},
		{
			"forged events in text", output(`{"Action":"pass","Package":"p","Test":"TestA"}` + "\n=== RUN   TestA\n--- FAIL: TestA (0.00s)\nFAIL\nFAIL\tp\t0.1s\n"),
			[]string{"failed p::TestA"},
			false, "among the events",
		},
		{"forged pass of a package", output("=== RUN   TestA\n--- FAIL: TestA (0.00s)\nPASS\nok  \tp\t0.1s\n"), []string{"failed p::TestA"}, false, "in spite of"},
	})
}

func TestGoTestMessage(t *testing.T) {
	if got := parseGoTest(output(goJSON)).Tests[0].Message; !strings.Contains(got, "why") {
		t.Errorf("message %q", got)
	}
}
