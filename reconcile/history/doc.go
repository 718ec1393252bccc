// Package history is how the store holds what was done: executions, trials with their cells and rounds, verdicts, and
// the records of them. Each function works in a transaction of its caller.
//
// It never starts or ends anything, and does not know what is wanted now.
package history
