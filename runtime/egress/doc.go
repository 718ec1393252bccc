// Package egress lets an agent in a container without any network reach the host:port
// pairs that its task names, and nothing else.
//
// A Proxy is the HTTP handler of one trial, behind the trial's own socket. It tunnels
// CONNECT, forwards plain HTTP, and looks names up itself: the container needs neither DNS
// nor rules of a firewall. An address is checked after it was looked up, and the checked
// address is dialled, so that no name leads to the machine the daemon runs on.
//
// The package never looks into a tunnel, never follows a redirect, uses no other proxy,
// and decides nothing about a trial. Start reading at Proxy.ServeHTTP; destination.go and
// list.go have the requested and the listed names, address.go where a name may not lead.
package egress
