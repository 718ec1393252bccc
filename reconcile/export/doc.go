// Package export writes what runs have come to in the layouts of other systems.
//
// It only reads the store, so it needs no daemon and disturbs none. Start reading at
// SForge; the views that existing clients of that system read are in view.go.
package export
