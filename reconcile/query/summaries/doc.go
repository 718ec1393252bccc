// Package summaries makes what executions amount to: their summaries, their reports, and comparisons of executions and of
// agents. It keeps summaries and reports in the store, and makes them again when trials have ended since.
//
// Package summary has the figures, and this package has when they are made and for whom. One is made at a time, because the
// outcomes of thousands of trials take memory. It changes nothing else. Run is its only goroutine. Start reading at
// Summaries.
package summaries
