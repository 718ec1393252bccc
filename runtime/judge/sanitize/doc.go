// Package sanitize makes an archive that may be copied over a judge image from one that a stranger
// sent: it reads a hostile tar within bounds and writes another, with only what may be submitted.
//
// It never extracts anything, starts nothing, and trusts no name, size, or link of an archive.
// Start reading at Clean and Rules.
package sanitize
