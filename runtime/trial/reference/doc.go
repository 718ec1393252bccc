// Package reference says what a task's own trees have shown of its judge: the solution, which has to
// pass, and the untouched tree, which must not.
//
// All of it are functions of reports: which tests there are, which failures are expected, whether a judge
// judges nothing. The package judges nothing itself, asks no engine, and ends no trial.
//
// Start reading at Of and SanityOf.
package reference
