// Package agentlog keeps what an agent prints, within a bound, and reads it again.
//
// A byte stands at the offset at which the agent printed it. What was lost in the container is a
// hole of zero bytes. Read tells in a line of what was dropped here for later bytes.
//
// The package never changes a byte, never waits for more output, and does not know whose log it is.
//
// Start reading at Open and Read.
package agentlog
