package scoring

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/assayd/assayd/runtime/judge/parser"
	"github.com/assayd/assayd/runtime/task"
)

// StartsOf is how often a task's command starts the runner that its parser reads; 0 = that
// cannot be told.
func StartsOf(t task.Task) int {
	tests := t.Judge.Tests()
	text := tests.Line()
	runners := parser.Runners(text)
	if p, ok := parser.Lookup(t.Judge.Parser); !ok || len(runners) != 1 || p.Name != runners[0].Name {
		return 0
	}
	return starts(runners[0], text)
}

// starts is how often a command starts a runner, where all of it can be seen; 0 = not known.
func starts(r parser.Runner, command string) int {
	loop := regexp.MustCompile(`(?:^|[\s;&|(])(?:for|while|until)\s`)
	if !r.Whole || loop.MatchString(command) {
		return 0
	}
	return r.Times
}

// tooManyRuns says that an output shows more runs than a command starts; "" = it does not.
// Those that are too many are what was submitted printed.
func tooManyRuns(runner string, runs, starts int) string {
	if starts == 0 || runs <= starts {
		return ""
	}
	return fmt.Sprintf("the output shows %d runs of %s, the command starts %d", runs, runner, starts)
}

// ReadsOutput reports whether a parser's word rests on what was printed.
func ReadsOutput(p parser.Parser, files map[string][]byte) bool {
	return p.Name != "exit_code" && (len(p.Files) == 0 || len(files) == 0)
}

// checkOutput holds against a submission what it has done to the output.
func (v *verdictBuilder) checkOutput() {
	o := v.seen
	if o.Cut {
		v.spoil("there was too much output: what the tests printed is not all here")
	}
	if problem := tooManyRuns(o.Parser.Name, o.Result.Runs, o.Starts); problem != "" {
		v.spoil(problem)
	}
}

// expectable tells of the tests that failed as expected those that may: where the judge's own
// files do not say that of any test of theirs, what was submitted has said it.
func expectable(tests []parser.Test, says func(name string) bool) []parser.Test {
	if !slices.ContainsFunc(tests, func(t parser.Test) bool { return t.Expected && t.Status == parser.Passed }) {
		return tests
	}
	tests = slices.Clone(tests)
	for i, t := range tests {
		if t.Expected && t.Status == parser.Passed && !says(t.Name) {
			tests[i].Status = parser.Failed
			tests[i].Message = strings.TrimSpace("it failed, which nothing of the judge's expects\n" + t.Message)
		}
	}
	return tests
}

// Bounds on the names of tests whose failure is expected.
const (
	maxExpected      = 2000
	maxExpectedBytes = 128 << 10
)

// expectedOf are the tests that count as passed because their failure is expected. What is
// beyond the bounds is not told, and counts in no trial that is held against it.
func expectedOf(tests []parser.Test) (names []string) {
	size := 0
	for _, t := range tests {
		if t.Expected && t.Status == parser.Passed && len(names) < maxExpected && size+len(t.Name) <= maxExpectedBytes {
			names = append(names, t.Name)
			size += len(t.Name)
		}
	}
	return names
}

// AllowsFailure reports whether one of some files may say of a test that it fails: the test's own or
// a conftest.py.
func AllowsFailure(files map[string]bool, name string) bool {
	for file := range files {
		if path.Base(file) == "conftest.py" || holdsTest(file, name) {
			return true
		}
	}
	return false
}

// holdsTest reports whether a Python file is that of a test by the test's name: the path before
// "::" of pytest, the module of unittest.
func holdsTest(file, name string) bool {
	if own, _, ok := strings.Cut(name, "::"); ok {
		return own == file || strings.HasSuffix(file, "/"+own) || strings.HasSuffix(own, "/"+file)
	}
	_, owner, _ := strings.Cut(strings.TrimSuffix(name, ")"), " (")
	module := strings.ReplaceAll(strings.TrimSuffix(file, ".py"), "/", ".")
	for owner != "" {
		if owner == module || strings.HasSuffix(module, "."+owner) {
			return true
		}
		at := strings.LastIndexByte(owner, '.')
		owner = owner[:max(at, 0)]
	}
	return false
}
