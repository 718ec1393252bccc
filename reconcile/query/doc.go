// Package query answers questions about specs, runs, lists of trials, health, and mined tasks. It reads two things: the
// latest snapshot of what the reconciler knows, which never changes, and the store. It decides nothing and changes nothing.
//
// Its parts are packages: snapshot has the snapshot, trialview single trials, summaries the figures of executions, archive
// the files of submissions, and tasklookup the addresses of tasks. Reader has no goroutine. Lists come a page at a time, and a page costs
// what it has. Start reading at Reader.
package query
