// Package docker is the container.Engine for Docker, and the only importer of its client.
//
// It speaks the Engine API (1.40 and later) and never runs the docker command. It keeps
// no state: what exists is what the engine says, and a new process with the same owner
// label sees the same containers. It never removes, stops or changes a container or an
// image unless it is asked to by id or name, and it never prunes. Start reading at Engine
// in engine.go, then Start in start.go and Wait in wait.go.
package docker
