// Package parser turns the output of test runners into results per test: one file a
// format, pure functions of their input, fuzzed, and never trusting what they read.
//
// It also builds the tripwires that show when submitted code patched the runner. It
// imports nothing of ours. Start reading at Parser and Lookup.
//
// # What counts
//
// A test counts when the output names it (pytest -q and unittest without -v, which name
// only failures, give the others a letter each). A closing summary adds nothing: where it
// disagrees with the tests, the result is not complete. Of several results of one name the
// worst counts. Of several summaries, blocks or documents the last counts. Where a runner
// writes both a text and a document, the two have to agree.
//
// # Results when a runner breaks
//
//   - pytest: an error on import is an error of the test file, and the tripwire still runs; a
//     process that ended, or a wrong command line, leaves no closing summary: not complete,
//     no tripwire.
//   - gotest: a package that does not build, panics on init or exits is an error, or has no
//     test at all: not complete, no tripwire. A test that began and did not end is an error.
//   - node: a file that throws is an error named by its path; one that exits on load with
//     code 0 reports no test: not complete, no tripwire.
//   - jest: a file that could not be run is an error named by its path, the other files and
//     the tripwire run: not complete. A process that ended leaves no closing summary.
//   - mocha: a file that throws on load ends the run before any test: no summary. A hook that
//     failed is an error and keeps tests from running, maybe the tripwire: not complete.
//   - unittest, django: an error on import is an error of the module, the other modules and the
//     tripwire run; a process that ended leaves no closing summary: not complete. The added
//     file is found by discovery only, and is not added where something else is run.
//   - cargo: what does not compile names no test; a test binary that ended is an error named
//     by its file: not complete. A binary that was never run, for one before it failed, is
//     not seen: its tests are missing.
//   - score_sum: no total behind the last case: not complete, and no score.
//   - reward: no file, or one that is not wholly as it should be: not complete, and no score.
//   - tap: a stream that broke off misses its plan or does not keep it: not complete.
//
// So a complete result without its tripwire was forged: see Tripwire.Check.
//
// # What a tripwire cannot show
//
// It shares a process with the submission (under jest often not even that), which can read it. Code that forges only tests
// it knows by name, that patches what the tests call (assertions, the clock) and not the
// runner, or that finds the added tests and treats them as they expect is not seen. Only
// judging the output of the submission in another container excludes that.
package parser
