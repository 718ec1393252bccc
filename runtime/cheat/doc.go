// Package cheat looks at what an agent did and handed in, once its trial is over, for what
// those do who want to pass without solving the task: read the history that is to come, fetch
// the upstream repository, touch the judge's files, print what a test runner prints, treat
// the tests specially.
//
// It reports what it found, with evidence, for people to judge. It never changes a verdict,
// runs nothing and asks no service: all it says is a function of its input, every byte of which is
// hostile. An act that is hidden well enough is not seen. The rules are in README.md;
// start reading at Look.
package cheat
