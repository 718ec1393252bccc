package judge

import (
	"fmt"
	"slices"
	"strings"

	"github.com/assayd/assayd/runtime/judge/parser"
	"github.com/assayd/assayd/runtime/task"
)

// commandsVerdict makes a report of what was seen of a task's commands: a test of each.
func commandsVerdict(t task.Task, runs []commandRun, overfull string) Report {
	r := Report{Status: StatusOK, Valid: true, Isolation: isolation(t), TotalTests: len(commandsOf(t))}
	tampered, notRun, late := "", []commandRun{}, 0
	for _, run := range runs {
		test, trick := run.verdict()
		if tampered == "" {
			tampered = trick
		}
		if run.absent() {
			notRun = append(notRun, run)
		}
		if run.timedOut {
			late++
		}
		if r.ExitCode == 0 && test.ExitCode != nil {
			r.ExitCode = *test.ExitCode
		}
		r.JudgeMS += run.took.Milliseconds()
		r.Tests = append(r.Tests, test)
	}
	r.Tests = boundedCommands(r.Tests)
	for _, test := range r.Tests {
		switch test.Status {
		case parser.Passed:
			r.Passed++
		case parser.Errored:
			r.Errors++
		default:
			r.Failed++
		}
	}
	r.PassRate = float64(r.Passed) / float64(r.TotalTests)
	r.Summary = fmt.Sprintf("%d/%d commands passed", r.Passed, r.TotalTests)
	if late > 0 {
		r.Status, r.Problem = StatusTimeout, fmt.Sprintf("%d of %d commands did not end within %s", late, len(runs), limitOf(t.Judge.Timeout))
	}
	return spoiltCommands(r, t, notRun, len(runs), overfull, tampered)
}

// spoiltCommands makes the report an invalid one where the commands were not all run as the
// task wants it.
func spoiltCommands(r Report, t task.Task, notRun []commandRun, ran int, overfull, tampered string) Report {
	missing := len(notRun) > 0 && len(notRun) == ran
	for _, run := range notRun {
		missing = missing || slices.Contains(t.FailToPass, run.text)
	}
	switch {
	case tampered != "":
		r.Status, r.Tampered, r.Valid, r.PassRate = StatusTampered, true, false, 0
		r.Problem = "the test run was tampered with: " + tampered
	case overfull != "":
		r.Status, r.Valid = StatusInvalid, false
		r.Problem = clip("a command was killed for its disk limit: "+overfull, 1000)
	case missing:
		r.Status, r.Valid, r.NotRun = StatusInvalid, false, true
		r.Problem = clip(fmt.Sprintf("the command %q could not be run: %s", notRun[0].text, notRun[0].why()), 1000)
	}
	return r
}

// boundedCommands bounds the messages, not the names: those are the task's own.
func boundedCommands(tests []parser.Test) []parser.Test {
	out := bounded(tests)
	for i := range out {
		out[i].Name = tests[i].Name
	}
	return out
}

// absent reports whether the command is one that the image does not have.
func (c commandRun) absent() bool {
	return c.noStart != "" || !c.timedOut && (c.exit == 126 || c.exit == 127)
}

func (c commandRun) why() string {
	if c.noStart != "" {
		return c.noStart
	}
	return fmt.Sprintf("exit code %d: %s", c.exit, lastLine(c.output))
}

// ending says in words how a command ended, for the output that is kept.
func (c commandRun) ending() string {
	took := fmt.Sprintf("after %d ms", c.took.Milliseconds())
	switch {
	case c.noStart != "":
		return c.noStart
	case c.timedOut:
		return "out of time " + took
	}
	return fmt.Sprintf("exit code %d %s", c.exit, took)
}

// verdict says how a command came out, and whether its tripwire shows tampering.
func (c commandRun) verdict() (test parser.Test, tampered string) {
	ms := c.took.Milliseconds()
	test = parser.Test{Name: c.text, Status: parser.Failed, DurationMS: &ms, Output: cut(string(c.output), maxTestOutput)}
	if test.TimedOut = c.timedOut; c.timedOut {
		test.Message = "out of time: " + lastLine(c.output)
		return test, ""
	}
	code := c.exit
	if c.noStart == "" {
		test.ExitCode = &code
	}
	if c.absent() {
		test.Status, test.Message = parser.Errored, "could not be run: "+c.why()
		return test, ""
	}
	if len(c.wires) > 0 {
		return c.wired(test)
	}
	if code != 0 {
		test.Message = c.why()
		return test, ""
	}
	for _, r := range c.runners {
		runs := parse(r.Parser, parser.Input{Output: c.output}).Runs
		if tampered = tooManyRuns(r.Name, runs, starts(r, c.text)); tampered != "" {
			test.Message = tampered
			return test, tampered
		}
	}
	doubt, remark := c.doubts()
	if test.Message = remark; doubt != "" {
		test.Message = "exit code 0, but " + doubt
		return test, ""
	}
	test.Status = parser.Passed
	return test, ""
}

// doubts holds the runners' words against an exit code of 0.
func (c commandRun) doubts() (doubt, remark string) {
	for _, r := range c.runners {
		result := parse(r.Parser, parser.Input{Output: c.output, Cut: c.cut})
		passed, failed := tallied(c.expected(result.Tests))
		claim := r.Claim(c.output)
		ended := claim.Ends >= r.Times || result.Complete && r.Times == 1
		switch {
		case failed > 0:
			return fmt.Sprintf("the output of %s shows a test that failed: %s", r.Name, firstFailed(c.expected(result.Tests))), ""
		case c.cut:
			return fmt.Sprintf("there was too much output: what %s printed is not all here", r.Name), ""
		case ended && result.Complete && passed > 0:
		case claim.Failed > 0:
			return fmt.Sprintf("the closing summary of %s tells of a test that failed", r.Name), ""
		case r.Proves(c.text, claim):
		case claim.Marks && r.Seen:
			return fmt.Sprintf("%s ran no test, or came to no good end: %s", r.Name, clip(result.Problem, 300)), ""
		case r.Seen:
			return fmt.Sprintf("nothing of %s is in the output: did the code under test end the process?", r.Name), ""
		default:
			remark = fmt.Sprintf("by its exit code alone: the output of %s does not show its tests", r.Name)
		}
	}
	return "", remark
}

// wired judges a command by its only runner and the two tests that were added.
func (c commandRun) wired(test parser.Test) (_ parser.Test, tampered string) {
	r, wire := c.runners[0], c.wires[0]
	result := parse(r.Parser, parser.Input{Output: c.output, Cut: c.cut})
	rest, tampered := wire.Check(result)
	rest = c.expected(rest)
	shown := func(is func(string) bool, status parser.Status) bool {
		return slices.ContainsFunc(result.Tests, func(t parser.Test) bool { return is(t.Name) && t.Status == status })
	}
	fails := shown(wire.MustFail, parser.Failed) || shown(wire.MustFail, parser.Errored)
	if tampered == "" && fails && wire.ExitCode != 0 && c.exit == 0 {
		tampered = "the runner reported a failing test and then success"
	}
	if tampered == "" {
		tampered = tooManyRuns(r.Name, result.Runs, starts(r, c.text))
	}
	passed, failed := tallied(rest)
	switch {
	case tampered != "":
		test.Message = tampered
	case c.exit != wire.ExitCode:
		test.Message = c.why()
	case failed > 0:
		test.Message = fmt.Sprintf("the output of %s shows a test that failed: %s", r.Name, firstFailed(rest))
	case passed > 0 && fails && shown(wire.MustPass, parser.Passed) && r.Claim(c.output).Ends >= r.Times:
		test.Status, *test.ExitCode = parser.Passed, 0 // as it is without what was added
	default:
		test.Message = fmt.Sprintf("%s ran no test, or came to no good end: %s", r.Name, clip(result.Problem, 300))
	}
	if test.Status != parser.Passed && c.exit == 0 && tampered == "" {
		test.Message = "exit code 0, but " + test.Message
	}
	return test, tampered
}

// expected is what tests come to where those that fail as expected have to be the judge's.
func (c commandRun) expected(tests []parser.Test) []parser.Test {
	if c.expects == nil {
		return tests
	}
	return expectable(tests, c.expects)
}

func tallied(tests []parser.Test) (passed, failed int) {
	for _, t := range tests {
		switch t.Status {
		case parser.Passed:
			passed++
		case parser.Failed, parser.Errored:
			failed++
		}
	}
	return passed, failed
}

func firstFailed(tests []parser.Test) string {
	for _, t := range tests {
		if t.Status == parser.Failed || t.Status == parser.Errored {
			return clip(strings.TrimSpace(t.Name), 200)
		}
	}
	return ""
}
