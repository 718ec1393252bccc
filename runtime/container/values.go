package container

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"maps"
	"time"
)

// Workload is everything an engine needs to run one container: plain data, compiled
// from specs but without any pointer to them.
type Workload struct {
	Name    string            // deterministic; unique within the engine
	Image   string            // image id or reference with digest
	Argv    []string          // replaces entrypoint and command of the image
	Env     map[string]string // added to the image's
	User    string            // "uid:gid", a name, or "" for the image's
	Workdir string            // "" = the image's
	Mounts  []Mount
	Network Network
	Limits  Limits
	Labels  map[string]string // the engine adds LabelHash
}

// Hash identifies the workload's content: 16 hex digits of the SHA-256 of its canonical
// JSON. Labels do not count, so that bookkeeping never makes a container a stranger.
func (w Workload) Hash() string {
	w.Labels = nil
	b, err := json.Marshal(w) // maps are sorted by encoding/json
	if err != nil {
		panic(err) // plain data always encodes
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:8])
}

// WithLabels returns a copy of the workload with the labels added.
func (w Workload) WithLabels(l map[string]string) Workload {
	merged := maps.Clone(w.Labels)
	if merged == nil {
		merged = map[string]string{}
	}
	maps.Copy(merged, l)
	w.Labels = merged
	return w
}

// Mount makes a file or folder of the host visible in the container.
type Mount struct {
	Source   string // absolute path on the host
	Target   string // absolute path in the container
	ReadOnly bool
}

// Network says what a container can reach.
type Network string

const (
	// NetworkNone is loopback and nothing else.
	NetworkNone Network = "none"
	// NetworkOpen is the engine's default network.
	NetworkOpen Network = "open"
)

// Limits are enforced by the kernel through the engine; zero means no limit.
type Limits struct {
	CPUs   float64 // as in "1.5 CPUs"
	Memory int64   // bytes, swap included
	PIDs   int64
	Disk   int64  // bytes of the writable layer, where the storage driver has quotas
	CPUSet string // "0-1", for exclusive CPUs
}

// Capabilities is all that a container's processes may ever have. Dropping them all
// would break git, apt and images whose user is root.
var Capabilities = []string{"CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "SETUID", "SETGID", "KILL"}

// Phase is where a container is in its life.
type Phase string

const (
	// PhaseCreated was created and never started.
	PhaseCreated Phase = "created"
	// PhaseRunning runs, frozen or not.
	PhaseRunning Phase = "running"
	// PhaseExited ran and stopped; its layer is still there.
	PhaseExited Phase = "exited"
)

// Instance is one container as the engine sees it now.
type Instance struct {
	ID         string
	Name       string
	Labels     map[string]string
	Phase      Phase
	Frozen     bool
	Exit       Exit // meaningful when Phase is exited
	ImageID    string
	CreatedAt  time.Time
	StartedAt  time.Time // of the last start
	FinishedAt time.Time
}

// Exit is a confirmed end of a container's first process.
type Exit struct {
	Code       int
	OOM        bool // the out-of-memory killer took it; an engine may miss that, so 137 without it proves nothing
	FinishedAt time.Time
}

// Command is one bounded command in a running container.
type Command struct {
	Argv    []string
	Env     map[string]string
	User    string // "" = the container's
	Workdir string
	Stdin   io.Reader // nil = empty
	Stdout  io.Writer // nil = thrown away; writers bound themselves
	Stderr  io.Writer // where it is Stdout, a shell's come in the order in which they are written
	// Terminal gives the sizes of the terminal that the command runs at, one after another; nil =
	// at none. At a terminal, errors come with the output.
	Terminal <-chan Size
}

// Size is that of a terminal, in characters.
type Size struct{ Columns, Rows uint }

// Usage is what a container uses now.
type Usage struct {
	MemoryBytes int64
	PIDs        int64
	DiskBytes   int64 // what the writable layer takes on the disk; where the engine can tell, 4 KiB for each file at least
	CPUSeconds  float64
}

// Image is one image that is present.
type Image struct {
	ID      string   // sha256:…
	Refs    []string // names it has
	Digests []string // repository digests, when it came from a registry
	Size    int64
	Created time.Time
	Config  ImageConfig
}

// ImageConfig is what an image tells about how it wants to be run.
type ImageConfig struct {
	User    string
	Workdir string
	Env     map[string]string
	Cmd     []string
	Labels  map[string]string
}

// HostInfo is what the engine's machine has.
type HostInfo struct {
	CPUs      int
	Memory    int64  // bytes
	Platform  string // "linux/amd64"
	Version   string // of the engine
	BootID    string // differs after a reboot, when the engine tells it
	DataRoot  string // where layers live, for disk accounting
	DiskQuota bool   // the storage driver enforces Limits.Disk
}
