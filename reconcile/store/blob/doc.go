// Package blob is the content-addressed part of a state directory: folders of files that are named by the SHA-256 of their
// content. A blob appears whole and durable, or not at all.
//
// It never decides which blobs are needed: the store says which digests nothing speaks of, and a caller discards these.
// Start reading at Blobs.
package blob
