// Package specs has the spec files of a daemon: it scans the watched folders, the checkout, and the files that were
// handed in, compiles them, and accepts the valid ones. They make the set that is in force.
//
// It stores what it accepts and reports in the status files what became of each file. It never begins or ends a run:
// what a new set means for runs is up to Options.Adopt. A scan that fails changes nothing.
//
// Start reading at Source.Rescan. A Source belongs to one goroutine, the loop of the reconciler; the methods that any
// goroutine may call say so.
package specs
