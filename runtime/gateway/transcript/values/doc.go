// Package values walks through JSON where it lies: it copies nothing, so that a request of
// many megabytes takes no more memory than it has bytes, whatever it is made of.
//
// What it is given must be valid; whoever has it from others asks json.Valid first, which also
// bounds how deep values lie in each other.
package values
