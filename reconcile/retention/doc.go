// Package retention decides what stays once trials are over, and removes the rest: containers that are kept for
// a look, containers that could not be removed while the engine was away or that a former daemon left, images that
// builds of this state directory made, agents' layers, and blobs that nothing speaks of. What an open trial or
// execution needs is never removed, nor is anything of other owners.
//
// BoundKept, RemoveOrphans, and SweepFormer are its goroutines; Collect runs when somebody asks, or on the hour.
package retention
