// Package extract gets from Git what a merged pull request changed, byte for byte, and looks
// into the trees that it was made on.
//
// Of each repository it keeps a bare clone that holds little more than the requested objects:
// commits by their hash without their history, and the content of files once it is needed.
// Clones are a cache and may be lost; one that a crash has left half made is made again.
// Nothing is ever checked out, no hook or filter of a repository runs, and reading asks no
// network: missing objects are fetched before, in bounds of size and time.
//
// The package decides nothing about a pull request but whether its change can be had whole
// and by itself. Start reading at Repositories.Change.
package extract
