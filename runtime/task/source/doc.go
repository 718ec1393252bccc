// Package source reads files of a folder, or of one file, that somebody else made: bounded,
// without waiting for pipes, and never by a link that leads out of it. It writes nothing.
// Start reading at Open.
package source
