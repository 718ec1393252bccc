// Package cellhost has the parts of a daemon in this process, on an engine in memory, and fills their
// store with finished cells.
//
// A Pattern is all that the store has of one trial that really ended; Fill stores it as often as there
// are cells. The package starts no container and no program. Start reading at New and OnePattern.
package cellhost
