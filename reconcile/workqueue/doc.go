// Package workqueue says which key the loop looks at next, and when. It never calls anything and has no goroutine.
package workqueue
