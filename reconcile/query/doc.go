// Package query answers questions about specs, runs, trials, and mined tasks. It reads two things: the
// latest snapshot of what the reconciler knows, which the reconciler publishes and which never changes, and the
// store. It decides nothing and changes nothing but the summaries and reports that it keeps in the store.
//
// Single trials are the business of package trialview. Reader has no goroutine but Run, which makes summaries. Lists come a page
// at a time, and a page costs what it has.
package query
