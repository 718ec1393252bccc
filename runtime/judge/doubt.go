package judge

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"io"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/assayd/assayd/runtime/judge/parser"
	"github.com/assayd/assayd/runtime/task"
)

// startsOf is how often a task's command starts the runner that its parser reads; 0 = that
// cannot be told.
func startsOf(t task.Task) int {
	tests := t.Judge.Tests()
	text := commandText(tests.Shell, tests.Argv)
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

// readsOutput reports whether a parser's word rests on what was printed.
func readsOutput(p parser.Parser, files map[string][]byte) bool {
	return p.Name != "exit_code" && (len(p.Files) == 0 || len(files) == 0)
}

// checkOutput holds against a submission what it has done to the output.
func (v *weighing) checkOutput() {
	o := v.seen
	if o.cut {
		v.spoil("there was too much output: what the tests printed is not all here")
	}
	if problem := tooManyRuns(o.parser.Name, o.result.Runs, o.starts); problem != "" {
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

// mayFail says of a test whether its failure may be expected: the judge's own files have to say
// so and, where a reference run has shown outcomes, that run.
func (g *grading) mayFail(name string) bool {
	if g.session.Outcomes && !slices.Contains(g.session.Expected, name) {
		return false
	}
	return marked(g.profile.Expecting, name)
}

// Expects reports whether the judge's files may have a test that the trial's task declares
// fail as expected. It is known once the images were looked at.
func (j *Judge) Expects(ctx context.Context, trial string) (bool, error) {
	s := j.session(trial)
	if s == nil || ByCommands(s.Task) || s.Task.Judge.Staged() || s.Task.Judge.Game != "" {
		return false, nil
	}
	p, err := j.profile(ctx, s)
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(manifest(s.Task), func(name string) bool { return marked(p.Expecting, name) }), nil
}

// marked reports whether one of some files may say of a test that it fails: the test's own or
// a conftest.py.
func marked(files map[string]bool, name string) bool {
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

// expecting reads a small Python file of the judge image, and takes note of it where it expects
// a test to fail. Content is nil where the file is another, or not read.
func (p *profile) expecting(h *tar.Header, r io.Reader, name string) (content []byte, err error) {
	if h.Typeflag != tar.TypeReg || h.Size > maxHiddenFile || path.Ext(name) != ".py" {
		return nil, nil
	}
	if content, err = io.ReadAll(r); err != nil {
		return nil, err
	}
	if bytes.Contains(content, []byte("xfail")) || bytes.Contains(content, []byte("expectedFailure")) {
		if p.Expecting == nil {
			p.Expecting = map[string]bool{}
		}
		p.Expecting[name] = true
	}
	return content, nil
}
