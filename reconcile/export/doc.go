// Package export writes what runs have come to in the layouts of other systems.
//
// It only reads the store, so it needs no daemon and disturbs none. Start reading at
// Write, which knows all layouts, and at SForge, the largest of them; the views that
// existing clients of that system read are in view.go.
package export
