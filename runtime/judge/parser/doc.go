// Package parser turns the output of test runners into results per test: one file a
// format, pure functions of their input, fuzzed, and never trusting what they read.
//
// It also builds the tripwires that show when submitted code patched the runner. It
// imports nothing of ours. Start reading at Parser and Lookup.
package parser
