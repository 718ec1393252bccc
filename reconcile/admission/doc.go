// Package admission decides which containers may start now. A Controller shares CPUs, memory, and disk
// between agents, judgings, and games. A Waitlist says which run is offered the room that comes free.
//
// A Controller is safe for any goroutine. A Waitlist belongs to one goroutine: the loop of reconcile.
// Neither starts a goroutine. The package never starts or stops a container, never reads the store, and
// never takes room back from a container that runs.
package admission
