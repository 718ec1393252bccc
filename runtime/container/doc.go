// Package container is the contract between assayd and whatever runs its containers.
//
// It holds the Engine interface with its optional capabilities, the plain values that
// cross it (Workload, Instance, Exit, …), the labels every container carries, and the
// error kinds. It imports the standard library only and never talks to an engine:
// container/docker does, and container/containertest holds a fake and the conformance
// suite that every engine must pass. Start reading at Engine.
package container
