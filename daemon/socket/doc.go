// Package socket guards the control socket: it says which user is at the other end of a connection,
// refuses requests of web pages, and adds Go's profiles.
//
// Something may forward a port to the socket, and then each page in a browser there can reach it.
// The package never decides what a user may do. Start reading at RefuseWebPages and WithPeer.
package socket
