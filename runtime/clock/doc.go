// Package clock measures time that outlasts a process, whatever is done to the wall clock
// meanwhile.
//
// Within a process Go compares readings of a clock that cannot be set. A stored time
// keeps its wall time alone, and that clock is stepped: by NTP, by an administrator, after
// a virtual machine was stopped. A Timeline is a wall clock that goes on evenly from where it
// was begun, for as long as the machine is not booted again, so that a deadline, a
// cooldown and an elapsed time are differences of plain times on one line.
//
// The package keeps nothing. In a test build, with the tag "faults", the wall clock and the
// boot can be changed from outside. Start reading at Timeline.
package clock
