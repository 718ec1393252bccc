package engines

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/assayd/assayd/runtime/container"
)

// Calls are the names of the calls that Options.Called is told of.
func Calls() []string {
	return []string{
		"observe", "inspect", "start", "stop", "remove", "restart", "copy_to", "copy_from", "freeze", "thaw", "pin", "usage",
		"image", "pull", "tag", "push", "commit", "list_images", "names", "remove_image", "host_info",
	}
}

// Failures are the kinds of errors that Failure tells apart.
func Failures() []string { return []string{"unavailable", "no_space", "conflict", "registry", "other"} }

// Failure is the kind of a call's error; "" where it is none of the engine's: there was no error, the answer is
// that something is not there, or the caller has broken the call off.
func Failure(err error) string {
	switch {
	case err == nil, errors.Is(err, container.ErrNotFound), errors.Is(err, context.Canceled):
		return ""
	case container.Unavailable(err):
		return "unavailable"
	case errors.Is(err, container.ErrNoSpace):
		return "no_space"
	case errors.Is(err, container.ErrConflict):
		return "conflict"
	case errors.Is(err, container.ErrRegistry), errors.Is(err, container.ErrDenied), errors.Is(err, container.ErrNoSuchRegistry):
		return "registry"
	}
	return "other"
}

// capable is an engine with all that the contract has.
type capable interface {
	Engine
	container.Execer
	container.Restarter
	container.Copier
	container.Freezer
	container.Pinner
	container.Hinter
	container.Meter
	container.Images
}

// measured is an engine that tells how long its calls take. Those that last as long as a container or one
// of its commands do, Wait and Exec, are left out.
type measured struct {
	capable
	called func(call string, took time.Duration, err error)
}

// measure has an engine tell how long its calls take. One that lacks a capability is left as it is, because a
// wrapped one would seem to have it.
func measure(engine Engine, called func(call string, took time.Duration, err error)) Engine {
	if whole, ok := engine.(capable); ok && called != nil {
		return measured{whole, called}
	}
	return engine
}

// call makes a call and tells of it. A call that its caller breaks off says nothing of the engine.
func call[T any](ctx context.Context, m measured, name string, do func() (T, error)) (T, error) {
	began := time.Now()
	value, err := do()
	if err == nil || ctx.Err() == nil {
		m.called(name, time.Since(began), err)
	}
	return value, err
}

// act is call for one without a value.
func act(ctx context.Context, m measured, name string, do func() error) error {
	_, err := call(ctx, m, name, func() (struct{}, error) { return struct{}{}, do() })
	return err
}

// Observe implements container.Engine.
func (m measured) Observe(ctx context.Context, owner string) ([]container.Instance, error) {
	return call(ctx, m, "observe", func() ([]container.Instance, error) { return m.capable.Observe(ctx, owner) })
}

// Inspect implements container.Engine.
func (m measured) Inspect(ctx context.Context, id string) (container.Instance, error) {
	return call(ctx, m, "inspect", func() (container.Instance, error) { return m.capable.Inspect(ctx, id) })
}

// Start implements container.Engine.
func (m measured) Start(ctx context.Context, w container.Workload) (container.Instance, error) {
	return call(ctx, m, "start", func() (container.Instance, error) { return m.capable.Start(ctx, w) })
}

// Stop implements container.Engine.
func (m measured) Stop(ctx context.Context, id string, grace time.Duration) error {
	return act(ctx, m, "stop", func() error { return m.capable.Stop(ctx, id, grace) })
}

// Remove implements container.Engine.
func (m measured) Remove(ctx context.Context, id string) error {
	return act(ctx, m, "remove", func() error { return m.capable.Remove(ctx, id) })
}

// Restart implements container.Restarter.
func (m measured) Restart(ctx context.Context, id string) (container.Instance, error) {
	return call(ctx, m, "restart", func() (container.Instance, error) { return m.capable.Restart(ctx, id) })
}

// CopyTo implements container.Copier.
func (m measured) CopyTo(ctx context.Context, id, dir string, tar io.Reader) error {
	return act(ctx, m, "copy_to", func() error { return m.capable.CopyTo(ctx, id, dir, tar) })
}

// CopyFrom implements container.Copier. It is measured until the stream begins.
func (m measured) CopyFrom(ctx context.Context, id, path string) (io.ReadCloser, error) {
	return call(ctx, m, "copy_from", func() (io.ReadCloser, error) { return m.capable.CopyFrom(ctx, id, path) })
}

// Freeze implements container.Freezer.
func (m measured) Freeze(ctx context.Context, id string) error {
	return act(ctx, m, "freeze", func() error { return m.capable.Freeze(ctx, id) })
}

// Thaw implements container.Freezer.
func (m measured) Thaw(ctx context.Context, id string) error {
	return act(ctx, m, "thaw", func() error { return m.capable.Thaw(ctx, id) })
}

// Pin implements container.Pinner.
func (m measured) Pin(ctx context.Context, id, cpuset string) error {
	return act(ctx, m, "pin", func() error { return m.capable.Pin(ctx, id, cpuset) })
}

// Usage implements container.Meter.
func (m measured) Usage(ctx context.Context, id string) (container.Usage, error) {
	return call(ctx, m, "usage", func() (container.Usage, error) { return m.capable.Usage(ctx, id) })
}

// HostInfo implements container.Host.
func (m measured) HostInfo(ctx context.Context) (container.HostInfo, error) {
	return call(ctx, m, "host_info", func() (container.HostInfo, error) { return m.capable.HostInfo(ctx) })
}

// Image implements container.Images.
func (m measured) Image(ctx context.Context, ref string) (container.Image, error) {
	return call(ctx, m, "image", func() (container.Image, error) { return m.capable.Image(ctx, ref) })
}

// Pull implements container.Images.
func (m measured) Pull(ctx context.Context, ref, platform string) (container.Image, error) {
	return call(ctx, m, "pull", func() (container.Image, error) { return m.capable.Pull(ctx, ref, platform) })
}

// Tag implements container.Images.
func (m measured) Tag(ctx context.Context, ref, name string) error {
	return act(ctx, m, "tag", func() error { return m.capable.Tag(ctx, ref, name) })
}

// Push implements container.Images.
func (m measured) Push(ctx context.Context, ref string) (string, error) {
	return call(ctx, m, "push", func() (string, error) { return m.capable.Push(ctx, ref) })
}

// Commit implements container.Images.
func (m measured) Commit(ctx context.Context, id, ref string, c container.ImageConfig) (container.Image, error) {
	return call(ctx, m, "commit", func() (container.Image, error) { return m.capable.Commit(ctx, id, ref, c) })
}

// ListImages implements container.Images.
func (m measured) ListImages(ctx context.Context, key, value string) ([]container.Image, error) {
	return call(ctx, m, "list_images", func() ([]container.Image, error) { return m.capable.ListImages(ctx, key, value) })
}

// Names implements container.Images.
func (m measured) Names(ctx context.Context) (map[string]string, error) {
	return call(ctx, m, "names", func() (map[string]string, error) { return m.capable.Names(ctx) })
}

// RemoveImage implements container.Images.
func (m measured) RemoveImage(ctx context.Context, ref string) error {
	return act(ctx, m, "remove_image", func() error { return m.capable.RemoveImage(ctx, ref) })
}
