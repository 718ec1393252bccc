// Package daemon is the process: it opens the state directory, connects the engine, wires
// judge, images, trials and reconciler together, and serves the control socket.
//
// Nothing is decided here and no other package imports it but daemon/cli. Start reading
// at Open and Daemon.Run.
package daemon
