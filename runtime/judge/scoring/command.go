package scoring

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/assayd/assayd/runtime/judge/parser"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/task"
	"github.com/assayd/assayd/runtime/truncate"
)

// CommandsVerdict makes a report of what was seen of a task's commands: a test of each.
func CommandsVerdict(t task.Task, runs []Command, overfull string) round.Report {
	r := round.Report{Status: round.StatusOK, Valid: true, Isolation: Isolation(t), TotalTests: len(CommandsOf(t))}
	tampered, notRun, late := "", []Command{}, 0
	for _, run := range runs {
		test, trick := run.verdict()
		if tampered == "" {
			tampered = trick
		}
		if run.absent() {
			notRun = append(notRun, run)
		}
		if run.TimedOut {
			late++
		}
		if r.ExitCode == 0 && test.ExitCode != nil {
			r.ExitCode = *test.ExitCode
		}
		r.JudgeMS += run.Took.Milliseconds()
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
		r.Status, r.Problem = round.StatusTimeout, fmt.Sprintf("%d of %d commands did not end within %s", late, len(runs), limitOf(t.Judge.Timeout))
	}
	return invalidCommands(r, t, notRun, len(runs), overfull, tampered)
}

// invalidCommands makes the report an invalid one where the commands were not all run as the
// task wants it.
func invalidCommands(r round.Report, t task.Task, notRun []Command, ran int, overfull, tampered string) round.Report {
	missing := len(notRun) > 0 && len(notRun) == ran
	for _, run := range notRun {
		missing = missing || slices.Contains(t.FailToPass, run.Text)
	}
	switch {
	case tampered != "":
		r.Status, r.Tampered, r.Valid, r.PassRate = round.StatusTampered, true, false, 0
		r.Problem = "the test run was tampered with: " + tampered
	case overfull != "":
		r.Status, r.Valid = round.StatusInvalid, false
		r.Problem = round.Clip("a command was killed for its disk limit: "+overfull, 1000)
	case missing:
		r.Status, r.Valid, r.NotRun = round.StatusInvalid, false, true
		r.Problem = round.Clip(fmt.Sprintf("the command %q could not be run: %s", notRun[0].Text, notRun[0].why()), 1000)
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
func (c Command) absent() bool {
	return c.NoStart != "" || !c.TimedOut && (c.Exit == 126 || c.Exit == 127)
}

func (c Command) why() string {
	if c.NoStart != "" {
		return c.NoStart
	}
	return fmt.Sprintf("exit code %d: %s", c.Exit, round.LastLine(c.Output))
}

// Ending says in words how a command ended, for the output that is kept.
func (c Command) Ending() string {
	took := fmt.Sprintf("after %d ms", c.Took.Milliseconds())
	switch {
	case c.NoStart != "":
		return c.NoStart
	case c.TimedOut:
		return "out of time " + took
	}
	return fmt.Sprintf("exit code %d %s", c.Exit, took)
}

// verdict says how a command came out, and whether its tripwire shows tampering.
func (c Command) verdict() (test parser.Test, tampered string) {
	ms := c.Took.Milliseconds()
	test = parser.Test{Name: c.Text, Status: parser.Failed, DurationMS: &ms, Output: truncate.Valid(string(c.Output), maxTestOutput)}
	if test.TimedOut = c.TimedOut; c.TimedOut {
		test.Message = "out of time: " + round.LastLine(c.Output)
		return test, ""
	}
	code := c.Exit
	if c.NoStart == "" {
		test.ExitCode = &code
	}
	if c.absent() {
		test.Status, test.Message = parser.Errored, "could not be run: "+c.why()
		return test, ""
	}
	if len(c.Canaries) > 0 {
		return c.byCanary(test)
	}
	if code != 0 {
		test.Message = c.why()
		return test, ""
	}
	for _, r := range c.Runners {
		runs := guarded(r.Parser, parser.Input{Output: c.Output}).Runs
		if tampered = tooManyRuns(r.Name, runs, starts(r, c.Text)); tampered != "" {
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
func (c Command) doubts() (doubt, remark string) {
	for _, r := range c.Runners {
		result := guarded(r.Parser, parser.Input{Output: c.Output, Cut: c.Cut})
		passed, failed := tallied(c.expected(result.Tests))
		claim := r.Claim(c.Output)
		ended := claim.Ends >= r.Times || result.Complete && r.Times == 1
		switch {
		case failed > 0:
			return fmt.Sprintf("the output of %s shows a test that failed: %s", r.Name, firstFailed(c.expected(result.Tests))), ""
		case c.Cut:
			return fmt.Sprintf("there was too much output: what %s printed is not all here", r.Name), ""
		case ended && result.Complete && passed > 0:
		case claim.Failed > 0:
			return fmt.Sprintf("the closing summary of %s tells of a test that failed", r.Name), ""
		case r.Proves(c.Text, claim):
		case claim.Marks && r.Seen:
			return fmt.Sprintf("%s ran no test, or came to no good end: %s", r.Name, round.Clip(result.Problem, 300)), ""
		case r.Seen:
			return fmt.Sprintf("nothing of %s is in the output: did the code under test end the process?", r.Name), ""
		default:
			remark = fmt.Sprintf("by its exit code alone: the output of %s does not show its tests", r.Name)
		}
	}
	return "", remark
}

// byCanary judges a command by its only runner and the two tests that were added.
func (c Command) byCanary(test parser.Test) (_ parser.Test, tampered string) {
	r, canary := c.Runners[0], c.Canaries[0]
	result := guarded(r.Parser, parser.Input{Output: c.Output, Cut: c.Cut})
	rest, tampered := canary.Check(result)
	rest = c.expected(rest)
	shown := func(is func(string) bool, status parser.Status) bool {
		return slices.ContainsFunc(result.Tests, func(t parser.Test) bool { return is(t.Name) && t.Status == status })
	}
	fails := shown(canary.MustFail, parser.Failed) || shown(canary.MustFail, parser.Errored)
	if tampered == "" && fails && canary.ExitCode != 0 && c.Exit == 0 {
		tampered = "the runner reported a failing test and then success"
	}
	if tampered == "" {
		tampered = tooManyRuns(r.Name, result.Runs, starts(r, c.Text))
	}
	passed, failed := tallied(rest)
	switch {
	case tampered != "":
		test.Message = tampered
	case c.Exit != canary.ExitCode:
		test.Message = c.why()
	case failed > 0:
		test.Message = fmt.Sprintf("the output of %s shows a test that failed: %s", r.Name, firstFailed(rest))
	case passed > 0 && fails && shown(canary.MustPass, parser.Passed) && r.Claim(c.Output).Ends >= r.Times:
		test.Status, *test.ExitCode = parser.Passed, 0 // as it is without what was added
	default:
		test.Message = fmt.Sprintf("%s ran no test, or came to no good end: %s", r.Name, round.Clip(result.Problem, 300))
	}
	if test.Status != parser.Passed && c.Exit == 0 && tampered == "" {
		test.Message = "exit code 0, but " + test.Message
	}
	return test, tampered
}

// expected is what tests come to where those that fail as expected have to be the judge's.
func (c Command) expected(tests []parser.Test) []parser.Test {
	if c.Expects == nil {
		return tests
	}
	return expectable(tests, c.Expects)
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
			return round.Clip(strings.TrimSpace(t.Name), 200)
		}
	}
	return ""
}

// Command is what was seen of one command of a task.
type Command struct {
	Text     string
	Runners  []parser.Runner
	Canaries []parser.Tripwire // at most one
	Exit     int
	TimedOut bool
	NoStart  string
	Took     time.Duration
	Output   []byte
	Cut      bool                   // a part of it is missing
	Expects  func(name string) bool // as in observation
}

// ByCommands reports whether a task is judged by the commands that its fail_to_pass and
// pass_to_pass hold: no other way of judging is given.
func ByCommands(t task.Task) bool {
	j := t.Judge
	return j.Command.Empty() && !j.Staged() && j.Game == "" && ParserName(j.Parser) == "exit_code" &&
		len(t.FailToPass)+len(t.PassToPass) > 0
}

// CommandsOf are a task's commands in the order in which they are run, each once.
func CommandsOf(t task.Task) (all []string) {
	for _, command := range slices.Concat(t.FailToPass, t.PassToPass) {
		if !slices.Contains(all, command) {
			all = append(all, command)
		}
	}
	return all
}
