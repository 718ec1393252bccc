// Package agentlog keeps what an agent prints, within a bound, and reads it again.
//
// A byte stands at the offset at which the agent printed it. Bytes that the container lost are a
// hole of zero bytes. Read puts a line in place of bytes that gave way to later ones.
//
// The package never changes a byte, never waits for more output, and does not know whose log it is.
//
// Start reading at Open and Read.
package agentlog
