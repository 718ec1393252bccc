// Package keylock has locks by key: one caller at a time has the lock of a key, and the others wait as long as
// their contexts last. It starts no goroutine, and it keeps no key that is neither locked nor waited for.
package keylock
