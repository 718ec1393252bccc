// Package waiting says why work waits for something outside, to whoever asked for the work: code
// deep below tries a server again, or waits for room, and the status has to tell of it at once.
//
// The package keeps nothing and never decides how long anything waits. Start reading at With.
package waiting
