// Package parser turns the output of test runners into results per test: one file a
// format, pure functions of their input, fuzzed, and never trusting what they read.
//
// It also builds the tripwires that show when submitted code patched the runner. It
// imports nothing of ours. Start reading at Parser and Lookup.
//
// # What counts
//
// A test counts when the output names it (pytest -q, which names only failures, gives the
// others a letter each). A closing summary adds nothing: where it disagrees with the tests,
// the result is not complete. Of several results of one name the worst counts. Of several
// summaries, blocks or documents the last counts.
//
// # What is seen when a runner breaks
//
//   - pytest: an error on import is an error of the test file, and the tripwire still runs; a
//     process that ended, or a wrong command line, leaves no closing summary: not complete,
//     no tripwire.
//   - gotest: a package that does not build, panics on init or exits is an error, or has no
//     test at all: not complete, no tripwire. A test that began and did not end is an error.
//   - node: a file that throws is an error named by its path; one that exits on load with
//     code 0 reports no test: not complete, no tripwire.
//
// So a complete result without its tripwire was forged: see Tripwire.Check.
//
// # What a tripwire cannot show
//
// It shares a process with the submission, which can read it. Code that forges only tests
// it knows by name, that patches what the tests call (assertions, the clock) and not the
// runner, or that finds the added tests and treats them as they expect is not seen. Only
// judging the output of the submission in another container excludes that.
package parser
