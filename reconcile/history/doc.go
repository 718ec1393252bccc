// Package history is how the store holds past work: executions, trials with their cells and rounds, verdicts, and
// the records of them. Each function works in a transaction of its caller.
//
// It never starts or ends anything, and does not know the desired state.
package history
