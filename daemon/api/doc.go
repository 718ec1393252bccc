// Package api is the control socket: the HTTP interface between a running daemon and the
// command line, and the client of it.
//
// It belongs to the host's operator; agents have another one, of package judge. Start
// reading at Handler and Client.
package api
