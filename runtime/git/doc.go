// Package git runs the host's Git, with nothing in it of whoever started this process.
//
// A command sees one file of configuration, which is written here, no hooks, attributes or
// credentials of the user or the machine, and of the environment only what leads to programs
// and to the network. It ends with its context, in time, and with this process; what it
// prints is bounded.
//
// The package knows no repository and no format, and never decides what may be run: who
// gives it an address or a tree has looked at that. Start reading at Git.
package git
