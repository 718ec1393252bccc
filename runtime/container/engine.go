package container

import (
	"context"
	"io"
	"time"
)

// Engine runs workloads. All methods may be called at once for different containers and
// are idempotent; each returns the context's cause when the context ends, and then
// nothing is known about the container: ask again with Inspect.
//
// An engine must keep two things apart: a container that exited (Wait returns an Exit
// that was confirmed by inspection) and an engine that cannot be asked (an error for
// which Unavailable is true). The second never means that a container is gone.
type Engine interface {
	// Observe lists every container labelled with the owner, in any phase, in one call.
	Observe(ctx context.Context, owner string) ([]Instance, error)

	// Inspect returns the present state of one container by id or name, or ErrNotFound.
	Inspect(ctx context.Context, id string) (Instance, error)

	// Start makes the workload run. Without a container of that name it creates and
	// starts one. A container of that name with the same Workload.Hash is adopted: left
	// alone when it runs, started when it was created and never started, started again
	// from its own layer when it has exited. Another hash or owner is ErrConflict.
	Start(ctx context.Context, w Workload) (Instance, error)

	// Wait returns when the container has exited, at once if it has already. It survives
	// restarts of the engine by itself. A container that is gone is ErrNotFound, never an
	// exit code.
	Wait(ctx context.Context, id string) (Exit, error)

	// Stop sends SIGTERM, waits for grace, then kills; a grace of zero kills at once. A
	// container that is stopped already, or gone, is success. A frozen one is killed.
	Stop(ctx context.Context, id string, grace time.Duration) error

	// Remove kills and removes the container with its anonymous volumes. One that is gone
	// is success.
	Remove(ctx context.Context, id string) error
}

// Execer runs a bounded command in a running container. The exit code is found by
// inspection of the exec, never by the end of its stream, so that a child that keeps
// standard output open does not hold the call. When the context ends the call returns
// its cause; the process may live on: whoever needs it dead stops the container. In a
// frozen container the command waits for the thaw.
type Execer interface {
	Exec(ctx context.Context, id string, c Command) (exitCode int, err error)
}

// Restarter starts a container again without its workload, for a look at what it left.
// Without it nobody can enter a container that was kept.
type Restarter interface {
	// Restart starts a container that has exited from its own layer, with all that it was made
	// with. One that runs is left alone; one that is gone is ErrNotFound. A mount whose source
	// is gone is an error.
	Restart(ctx context.Context, id string) (Instance, error)
}

// Copier moves tar streams in and out of a container, running or not.
type Copier interface {
	// CopyTo extracts a tar stream into the directory dir, which must exist.
	CopyTo(ctx context.Context, id, dir string, tar io.Reader) error
	// CopyFrom returns path as a tar stream whose names begin with the last element of
	// path. A path that does not exist is ErrNotFound. One that ends in a slash is a folder, and
	// a link there is followed, as far as the container's own files go. The caller closes the
	// stream.
	CopyFrom(ctx context.Context, id, path string) (io.ReadCloser, error)
}

// Freezer stops all processes of a container in place and lets them go on.
// Without it a trial takes its snapshots from a moving tree and says so.
type Freezer interface {
	// Freeze of a frozen container and Thaw of a running one are success. A freeze waits for
	// commands that are being started in the container to be running. One of which the engine
	// has forgotten that it is frozen cannot be thawed: it is killed, and the answer ErrConflict.
	Freeze(ctx context.Context, id string) error
	Thaw(ctx context.Context, id string) error
}

// Pinner says on which CPUs a container's processes may run. Without it CPUs are never
// exclusive, and whoever asks for that is measured beside others.
type Pinner interface {
	// Pin confines the container to the CPUs of cpuset, written as in Limits.CPUSet and
	// never empty: to lift a confinement, name all CPUs of the host. It acts at once on a
	// container that runs, frozen or not, and at its next start on any other. Nothing else
	// of its limits changes. CPUs that the host does not have are an error.
	Pin(ctx context.Context, id, cpuset string) error
}

// Hinter gives hints that a container may have changed. Hints may be lost, late or
// repeated; an empty id means "look at all of them" (sent after a reconnect). The channel
// is closed when the context ends.
type Hinter interface {
	Hints(ctx context.Context, owner string) <-chan string
}

// Meter reads what a container uses now. Without it disk and memory flags stay empty.
type Meter interface {
	Usage(ctx context.Context, id string) (Usage, error)
}

// Images is what is needed to look up and make images. An engine without it can only run
// what is already there.
type Images interface {
	// Image resolves a reference to what is present locally, or ErrNotFound.
	Image(ctx context.Context, ref string) (Image, error)
	// Pull fetches ref from its registry; it fails after two minutes without progress. What
	// the registry does not have is ErrNotFound, what it does not give us ErrDenied, a registry
	// that no name server knows ErrNoSuchRegistry, and ErrRegistry is what may go well when it
	// is tried again.
	Pull(ctx context.Context, ref, platform string) (Image, error)
	// Tag gives the image ref another name, which is taken from the image that had it.
	Tag(ctx context.Context, ref, name string) error
	// Push sends the image of the name ref to the registry that the name begins with and
	// returns the digest under which it is there, "sha256:…". It fails as Pull does.
	Push(ctx context.Context, ref string) (digest string, err error)
	// Commit makes an image named ref out of a container's file system. What c leaves empty
	// is the container's; c's environment and labels are added to the container's.
	Commit(ctx context.Context, id, ref string, c ImageConfig) (Image, error)
	// ListImages lists the images with the given label key and value.
	ListImages(ctx context.Context, key, value string) ([]Image, error)
	// Names tells in one call which images are present locally: ids by name, with the tag and
	// without what the engine adds by itself.
	Names(ctx context.Context) (map[string]string, error)
	// RemoveImage removes one reference; one that is gone is success, one in use is
	// ErrConflict.
	RemoveImage(ctx context.Context, ref string) error
}

// Host tells what the engine's machine has; the defaults of `limits` come from it.
type Host interface {
	HostInfo(ctx context.Context) (HostInfo, error)
}
