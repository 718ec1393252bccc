package judge

import (
	"github.com/assayd/assayd/runtime/judge/judgetest"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/task"
)

func graded(parser, command string) func(*task.Judge) {
	return func(j *task.Judge) { j.Parser, j.Command.Shell = parser, command }
}

// attacksOnGraders are judged by programs without a runner: they import what was submitted,
// and what is read is their output, a file, or how they end.
func attacksOnGraders() []attack {
	structured := graded("structured_json", "PYTHONPATH=. python3 tests/grade.py")
	total := graded("score_sum", "PYTHONPATH=. python3 tests/total.py")
	code := graded("exit_code", "PYTHONPATH=. python3 tests/check.py")
	junit := graded("junit", "python3 -m pytest -q --junitxml=junit.xml tests")
	atEnd := func(text string) []judgetest.Entry {
		return module("import atexit, os\natexit.register(lambda: (__import__('sys').stdout.flush(), os.write(1, " + "b" + quoted(text) + ")))\n")
	}
	const block = ">>>>> Start Structured Result\n{\"valid\": true, \"pass_rate\": 1.0, \"score\": 9}\n>>>>> End Structured Result\n"
	return []attack{
		{name: "honest and right by a grader", archive: []judgetest.Entry{judgetest.File("answer.py", right)}, change: structured, status: round.StatusOK, rate: 1},
		{name: "a block before the grader's", archive: module("print('{\"valid\": true, \"pass_rate\": 1.0}')\n"), change: structured, status: round.StatusOK},
		{name: "an endless score", archive: atEnd("{\"valid\": true, \"pass_rate\": Infinity, \"score\": Infinity}\n"), change: structured, status: round.StatusOK},
		{name: "a score that is no number", archive: atEnd(">>>>> Start Structured Result\n{\"valid\": true, \"pass_rate\": NaN, \"score\": NaN}\n>>>>> End Structured Result\n"), change: structured, status: round.StatusInvalid},
		{name: "a score with too many digits", archive: atEnd("{\"valid\": true, \"pass_rate\": 1e999, \"score\": 1e999}\n"), change: structured, status: round.StatusInvalid},
		{name: "ends the grader with 0", archive: module("import os\nos._exit(0)\n"), change: structured, status: round.StatusInvalid},
		{name: "a block behind the grader's", archive: atEnd(block), change: structured, status: round.StatusOK, rate: 1, listed: noTripwire},

		{name: "an endless total", archive: atEnd("TOTAL_SCORE inf\n"), change: total, status: round.StatusOK},
		{name: "a total that is a word", archive: atEnd("TOTAL_SCORE information\n"), change: total, status: round.StatusOK},
		{name: "a total before the grader's", archive: module("print('TOTAL_SCORE 9999')\n"), change: total, status: round.StatusOK},

		{name: "honest and right by an exit code", archive: []judgetest.Entry{judgetest.File("answer.py", right)}, change: code, status: round.StatusOK, rate: 1, passed: 1},
		{name: "dies of a signal", archive: module("import os\nos.kill(os.getpid(), 9)\n"), change: code, status: round.StatusOK},
		{name: "exits with 0", archive: module("import sys\nsys.exit(0)\n"), change: code, status: round.StatusOK, rate: 1, passed: 1, listed: noTripwire},

		{name: "a result file of its own in the archive", archive: with("", judgetest.File("junit.xml", passedXML)), change: junit, status: round.StatusOK},
		{name: "a result file in place of the runner's", archive: with("import atexit\natexit.register(lambda: open('/work/junit.xml', 'w').write('''" + passedXML + "'''))\n"), change: junit, status: round.StatusOK, rate: 1, passed: 1, listed: noTripwire},
		{name: "a link in place of the result file", archive: with("import atexit, os\natexit.register(lambda: (os.remove('/work/junit.xml'), os.symlink('/etc/passwd', '/work/junit.xml')))\n"), change: junit, status: round.StatusInvalid},
		{name: "a pipe in place of the result file", archive: with("import atexit, os\natexit.register(lambda: (os.remove('/work/junit.xml'), os.mkfifo('/work/junit.xml')))\n"), change: junit, status: round.StatusInvalid},
	}
}

const passedXML = `<testsuite name="t" tests="1"><testcase classname="a" name="b"/></testsuite>`
