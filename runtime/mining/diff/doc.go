// Package diff takes diffs apart that are in Git's format: into files and their hunks, with
// every byte kept, so that a part of one can be written again.
//
// It reads what strangers made, in time in proportion to its length. It applies nothing, and
// knows no language. Start reading at Read.
package diff
