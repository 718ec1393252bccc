package sandbox

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"log/slog"
	"time"

	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/task"
)

// Host is the engine as a judge uses it, and what all containers of the judge have in common.
type Host struct {
	Engine       container.Engine
	Execer       container.Execer
	Copier       container.Copier
	Blobs        round.Blobs       // of the trees that are laid over images
	Owner        string            // id of the state directory, for names and labels
	PauseProcess []string          // first process of the containers: reaps and does nothing
	Mounts       []container.Mount // where that lives, read-only
	Later        func(id string)   // has a container removed later that cannot be removed now; nil = nothing does
	Spool        string            // folder for what is noted of confined CPUs; "" = the system's
	Log          *slog.Logger
}

// LabelSubmission is on every judge container: the submission's id.
const LabelSubmission = "assayd.submission"

// startTime bounds the start of a container, and with it how long the judge may take to
// stop.
const startTime = 30 * time.Second

// ContainerName makes a container's name out of what is unique for this owner.
func (h *Host) ContainerName(what string) string {
	return "assayd-j-" + h.Owner[:min(8, len(h.Owner))] + "-" + what
}

// Terms say what a container of a judging is made of.
type Terms struct {
	Trial       string
	Image       string            // id
	Labels      map[string]string // beside those that say whose it is
	Task        task.Task         // with the command, the limits, and the user of this container
	Context     task.Tree         // laid over workdir before what is submitted
	Overlay     task.Tree         // the same, after it
	Protect     []string          // globs of files that only the image may have
	HiddenPaths []string          // below workdir, relative to it
}

// Key is the same for terms under which an image has the same profile.
func (t Terms) Key() string {
	b, err := json.Marshal([]any{
		t.Image, t.Task.Workdir, t.Task.Submit, t.Protect, t.HiddenPaths, t.Task.Judge.User, t.Context.Digest, t.Overlay.Digest,
	})
	if err != nil {
		panic(err) // plain data always encodes
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:6])
}

// Workload is a judge container. Its first process is root's, out of reach of what is run as
// the image's user.
func (h *Host) Workload(t Terms, name, submission, cpuset string) container.Workload {
	p := t.Task.Judge.Part
	w := container.Workload{
		Name: name, Image: t.Image, Argv: h.PauseProcess, Mounts: h.Mounts,
		User: "0:0", Workdir: t.Task.Workdir, Network: container.NetworkNone,
		Limits: container.Limits{CPUs: p.CPUs, Memory: p.Memory, PIDs: p.PIDs, Disk: p.Disk, CPUSet: cpuset},
	}
	if t.Task.Judge.Network {
		w.Network = container.NetworkOpen
	}
	w = w.WithLabels(t.Labels).WithLabels(map[string]string{
		container.LabelOwner: h.Owner, container.LabelTrial: t.Trial, container.LabelRole: container.RoleJudge,
	})
	if submission != "" {
		w = w.WithLabels(map[string]string{LabelSubmission: submission})
	}
	return w
}

// Launch makes a container run. The end of the context does not break it off, for then
// nobody would know whether there is a container to remove.
func (h *Host) Launch(ctx context.Context, w container.Workload) (container.Instance, error) {
	if ctx.Err() != nil {
		return container.Instance{}, context.Cause(ctx)
	}
	whole, cancel := context.WithTimeout(context.WithoutCancel(ctx), startTime)
	defer cancel()
	return h.Engine.Start(whole, w)
}

// Remove removes a container, by its id or by a name that is used but once, now or as soon
// as it can be. What is left by this daemon carries our labels and is swept by the next.
func (h *Host) Remove(ctx context.Context, id string) {
	after, cancel := CleanupContext(ctx)
	defer cancel()
	if err := h.Engine.Remove(after, id); err != nil {
		h.Log.Warn("a judge container could not be removed yet", "container", id, "error", err)
		h.RemoveLater(id)
	}
}

// RemoveLater has a container removed later that may be there by then.
func (h *Host) RemoveLater(id string) {
	if h.Later != nil {
		h.Later(id)
	}
}

// CleanupContext outlives ctx by a little, for what must be undone whatever happened.
func CleanupContext(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
}

// Machinery reports whether no submission can be the cause of the error: the engine is away
// or full, or the container is gone.
func Machinery(err error) bool {
	return container.Unavailable(err) || errors.Is(err, container.ErrNoSpace) || errors.Is(err, container.ErrNotFound)
}
