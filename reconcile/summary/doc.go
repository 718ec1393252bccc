// Package summary computes what trials amount to: the summary of an execution with its rates and
// intervals, the report on each agent and task, the table and the curve of scores by time, and the
// comparison of two executions.
//
// It is pure: the same outcomes give the same numbers, in any order. It never reads the store, never
// looks at the clock, and never decides which trials count: the caller leaves superseded ones out, and
// trial.Status says which of the others are in rates.
package summary
