// Package miningspec carries out mining specs. Each that is declared has a goroutine with a miner. It begins again when
// the spec is edited, and ends with its block, by a command, or when there is nothing more to do.
package miningspec
