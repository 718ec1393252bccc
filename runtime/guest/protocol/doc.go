// Package protocol is what the daemon and the guest in a work container say to each other.
//
// It has the requests and answers, the places in the container that both sides know, and the
// daemon's side of the conversation: Host serves the requests of one guest and checks their
// form. An agent's clients read their variables and paths here, too.
//
// The package never decides what an answer is: the daemon's functions do. It never believes a
// guest, and it uses the standard library and nothing else.
//
// Start reading at protocol.go.
package protocol
