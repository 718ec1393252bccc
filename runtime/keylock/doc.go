// Package keylock has locks by key: what has one key is done by one at a time, and whoever waits may leave.
// It starts no goroutine, and keeps nothing of a key that nobody holds or waits for.
package keylock
