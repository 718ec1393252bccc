// Package change tells watchers which topics the commits of the store have touched: specs, trials, and the spec files.
// Changes that a watcher has not taken yet are joined, with a bound.
//
// It stores nothing and numbers nothing: the store does. It never waits for a watcher. Start reading at Watchers.
package change
