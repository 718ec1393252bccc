// Package api is the control socket: the HTTP interface between a running daemon and the
// command line, and the client of it.
//
// openapi.yaml is the contract, written by hand and held by tests; docs/api.md explains it to users.
// It belongs to the host's operator; agents have another one, of package judge. It never decides
// anything about runs: package reconcile does. Start reading at Handler, Client, and servePage.
package api
