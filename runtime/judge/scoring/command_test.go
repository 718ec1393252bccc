package scoring

import (
	"fmt"
	"strings"
	"testing"

	"github.com/assayd/assayd/runtime/judge/parser"
	"github.com/assayd/assayd/runtime/task"
)

func TestOnlyATaskWithoutAnotherJudgeIsJudgedByCommands(t *testing.T) {
	lists := task.Task{FailToPass: []string{"true"}}
	with := func(change func(*task.Task)) task.Task { t := lists; change(&t); return t }
	for name, tt := range map[string]struct {
		task task.Task
		want bool
	}{
		"lists":         {lists, true},
		"of any kind":   {task.Task{PassToPass: []string{"true"}}, true},
		"its parser":    {with(func(t *task.Task) { t.Judge.Parser = "exit_code" }), true},
		"names":         {with(func(t *task.Task) { t.Judge.Parser = "pytest" }), false},
		"a command":     {with(func(t *task.Task) { t.Judge.Command.Shell = "x" }), false},
		"stages":        {with(func(t *task.Task) { t.Judge.Run = &task.Stage{} }), false},
		"a game":        {with(func(t *task.Task) { t.Judge.Game = "x" }), false},
		"nothing":       {task.Task{}, false},
		"a private set": {WithoutManifest(with(func(t *task.Task) { t.Judge.Command.Shell = "x" })), false},
	} {
		if ByCommands(tt.task) != tt.want {
			t.Errorf("%s: %t", name, !tt.want)
		}
	}
}

// TestRunnersWordsAgainstTheirExitCode holds outputs as runners print them.
func TestRunnersWordsAgainstTheirExitCode(t *testing.T) {
	const (
		goPassed = "=== RUN   TestA\n--- PASS: TestA (0.00s)\nPASS\nok  \tx\t0.01s\n"
		goIdle   = "testing: warning: no tests to run\nPASS\nok  \ty\t0.01s [no tests to run]\n"
		unit     = "----------------------------------------------------------------------\nRan 1 test in 0.000s\n\nOK\n"
	)
	for _, tt := range []struct {
		command, output string
		exit            int
		status          parser.Status
		message         string
	}{
		{"make test", "anything", 0, parser.Passed, ""},
		{"make test", "2 failed", 2, parser.Failed, "exit code 2: 2 failed"},
		{"pytest -q a", ".  [100%]\n=== short test summary info ===\nPASSED a.py::test_a\n1 passed in 0.01s\n", 0, parser.Passed, ""},
		{"pytest -q a", "F  [100%]\n=== short test summary info ===\nFAILED a.py::test_a\n1 failed in 0.01s\n", 0, parser.Failed, "a test that failed: a.py::test_a"},
		{"pytest -q a", "", 0, parser.Failed, "nothing of pytest"},
		{"pytest a", "=== test session starts ===\ncollected 1 item\n", 0, parser.Failed, "no good end"},
		{"pytest -q a", "no tests ran in 0.01s\n", 0, parser.Failed, "ran no test"},
		{"pytest a; pytest -q b", "=== test session starts ===\na.py .  [100%]\n=== 1 passed in 0.01s ===\n", 0, parser.Failed, "no good end"},
		{"pytest -q a | tail -1", "3 passed in 0.01s\n", 0, parser.Passed, ""},
		{"pytest -q a | tail -1", "1 failed, 2 passed in 0.01s\n", 0, parser.Failed, "tells of a test that failed"},
		{"pytest -q a | grep -c passed", "1\n", 0, parser.Passed, "exit code alone"},
		{"pytest -q a | grep passed", "1 failed, 2 passed in 0.01s\n", 0, parser.Failed, "failed"},
		{"tox -e py", "", 0, parser.Passed, ""},
		{"python -m unittest x", ".\n" + unit, 0, parser.Passed, ""},
		{"python -m unittest x", "", 0, parser.Failed, "nothing of unittest"},
		{"go test ./...", goPassed, 0, parser.Passed, ""},
		{"go test -run TestA ./...", goPassed + goIdle + "?   \tz\t[no test files]\n", 0, parser.Passed, ""},
		{"go test ./...", goPassed + "ok  \ty\t0.01s\n", 0, parser.Failed, "no good end"}, // y ended the process
		{"go test ./...", "ok  \ty\t0.01s\n", 0, parser.Failed, "no good end"},
		{"go test -json ./...", `{"Action":"run","Package":"x","Test":"TestA"}` + "\n" + `{"Action":"output","Package":"x","Test":"TestA","Output":"--- PASS: TestA (0.00s)\n"}` + "\n" +
			`{"Action":"pass","Package":"x","Test":"TestA"}` + "\n" + `{"Action":"output","Package":"x","Output":"PASS\n"}` + "\n" + `{"Action":"pass","Package":"x"}` + "\n", 0, parser.Passed, ""},
		{"cargo test -q", "running 1 test\n.\ntest result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n", 0, parser.Passed, ""},
		{"npx jest", "PASS ./a.test.js\nPASS ./b.test.js\n\nTest Suites: 2 passed, 2 total\nTests:       4 passed, 4 total\n", 0, parser.Passed, ""},
		{"npx jest", "", 0, parser.Failed, "nothing of jest"},
		{"npx mocha", "  sum\n    ✔ adds\n\n\n  1 passing (3ms)\n\n", 0, parser.Passed, ""},
		{"npx mocha", "  ․․․\n\n  3 passing (3ms)\n", 0, parser.Passed, ""},
		{"npx mocha", "", 0, parser.Failed, "nothing of mocha"},
	} {
		test, tampered := Command{Text: tt.command, Runners: parser.Runners(tt.command), Exit: tt.exit, Output: []byte(tt.output)}.verdict()
		if test.Status != tt.status || !strings.Contains(test.Message, tt.message) || tampered != "" || tt.message == "" && test.Message != "" {
			t.Errorf("%s, exit %d, %q: %s (%s), want %s (%s)", tt.command, tt.exit, tt.output, test.Status, test.Message, tt.status, tt.message)
		}
	}
}

func TestACommandWithATripwire(t *testing.T) {
	is := func(name string) func(string) bool { return func(s string) bool { return strings.HasSuffix(s, name) } }
	canary := parser.Tripwire{MustPass: is("TestZgood"), MustFail: is("TestZbad"), ExitCode: 1}
	const good, bad = "--- PASS: TestZgood (0.00s)\n", "--- FAIL: TestZbad (0.00s)\n"
	output := func(lines ...string) string { return strings.Join(lines, "") + "FAIL\nFAIL\tx\t0.01s\nFAIL\n" }
	for _, tt := range []struct {
		name, output string
		exit         int
		status       parser.Status
		code         int
		tampered     bool
	}{
		{"as it should be", output("--- PASS: TestA (0.00s)\n", good, bad), 1, parser.Passed, 0, false},
		{"another test fails", output("--- FAIL: TestA (0.00s)\n", good, bad), 1, parser.Failed, 1, false},
		{"no other test", output(good, bad), 1, parser.Failed, 1, false},
		{"what must fail passes", output("--- PASS: TestA (0.00s)\n", good, "--- PASS: TestZbad (0.00s)\n"), 1, parser.Failed, 1, true},
		{"neither is there", "--- PASS: TestA (0.00s)\nPASS\nok  \tx\t0.01s\n", 0, parser.Failed, 0, true},
		{"a failing test, and then success", output("--- PASS: TestA (0.00s)\n", good, bad), 0, parser.Failed, 0, true},
		{"it does not build", "FAIL\tx [build failed]\nFAIL\n", 1, parser.Failed, 1, false},
		{"another exit code", output("--- PASS: TestA (0.00s)\n", good, bad), 2, parser.Failed, 2, false},
	} {
		run := Command{Text: "go test .", Runners: parser.Runners("go test ."), Canaries: []parser.Tripwire{canary}, Exit: tt.exit, Output: []byte(tt.output)}
		test, tampered := run.verdict()
		if test.Status != tt.status || *test.ExitCode != tt.code || (tampered != "") != tt.tampered {
			t.Errorf("%s: %s (%s), exit code %d, tampered %q", tt.name, test.Status, test.Message, *test.ExitCode, tampered)
		}
		r := CommandsVerdict(task.Task{FailToPass: []string{"go test ."}}, []Command{run}, "")
		if r.Tampered != tt.tampered || tt.tampered && (r.Valid || r.PassRate != 0) {
			t.Errorf("%s: %+v", tt.name, r)
		}
	}
}

func TestNamesOfCommandsAreWholeHoweverLong(t *testing.T) {
	long := "true # " + strings.Repeat("x", 2*maxTestName)
	r := CommandsVerdict(task.Task{FailToPass: []string{long}}, []Command{{Text: long, Output: []byte(fmt.Sprint(long))}}, "")
	if r.Tests[0].Name != long {
		t.Errorf("%d bytes of %d", len(r.Tests[0].Name), len(long))
	}
	if got := len(bounded([]parser.Test{{Output: strings.Repeat("x", 2*maxTestOutput)}})[0].Output); got != maxTestOutput {
		t.Errorf("%d bytes of its output are kept", got)
	}
}
