// Package snapshot has the knowledge of the reconciler at the end of a turn of its loop: the specs in force, and a view of
// each run and of each mining spec. Snapshots share what did not change.
//
// The loop makes a snapshot with Edit and publishes it with Latest, from which any goroutine takes it. A snapshot never
// changes, and it has nothing of trials: the store has those. It never asks the loop. Start reading at Snapshot.
package snapshot
