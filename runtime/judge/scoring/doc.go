// Package scoring says what a judging is worth: from the output of a judge command to a report,
// from the reports of a trial to the round that counts, and from a report to what its agent is told.
//
// All of it is a function of its input. It runs no command, stores nothing, and reads no clock.
// Start reading at Verdict, Best, and Manifest.
package scoring
