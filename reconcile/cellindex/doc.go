// Package cellindex keeps, for each run, which trials of its latest execution ask for something. The trials of an
// execution are read once; later each is read when it has changed.
//
// It never decides about a trial (plan does), and it changes no trial. All belongs to one goroutine, the
// loop of the reconciler. Start reading at Cells.Worklist.
package cellindex
