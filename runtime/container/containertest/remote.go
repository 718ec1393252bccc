package containertest

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/assayd/assayd/runtime/container"
)

// Remote is an engine in another process, which Serve answers there.
type Remote struct {
	client *http.Client
	daemon string
}

var (
	_ container.Engine  = (*Remote)(nil)
	_ container.Execer  = (*Remote)(nil)
	_ container.Copier  = (*Remote)(nil)
	_ container.Freezer = (*Remote)(nil)
	_ container.Meter   = (*Remote)(nil)
	_ container.Images  = (*Remote)(nil)
	_ container.Host    = (*Remote)(nil)
)

// NewRemote returns the engine that is served at a Unix socket; nothing is sent yet. What it makes
// bears the id of the daemon.
func NewRemote(socket, daemon string) *Remote {
	return &Remote{daemon: daemon, client: &http.Client{Transport: &http.Transport{
		MaxIdleConnsPerHost: 64,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", socket)
		},
	}}}
}

// Close ends the connections that are idle.
func (r *Remote) Close() error {
	r.client.CloseIdleConnections()
	return nil
}

// remoteFailure is an error of the other side.
type remoteFailure struct {
	text  string
	kinds []error
}

func (e *remoteFailure) Error() string   { return e.text }
func (e *remoteFailure) Unwrap() []error { return e.kinds }

func (e remoteError) asError() error {
	f := &remoteFailure{text: e.Text}
	for _, i := range e.Kinds {
		if i >= 0 && i < len(kinds) {
			f.kinds = append(f.kinds, kinds[i])
		}
	}
	return f
}

// send makes a request and returns its answer, which the caller closes.
func (r *Remote) send(ctx context.Context, method string, query url.Values, body io.Reader) (io.ReadCloser, error) {
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://engine/"+method+"?"+query.Encode(), body)
	if err != nil {
		return nil, err
	}
	q.Header.Set("Content-Type", "application/octet-stream") // no form, whose fields would be looked for in the body
	answer, err := r.client.Do(q)
	if err != nil {
		return nil, lost(ctx, method, err)
	}
	if answer.StatusCode == http.StatusOK {
		return answer.Body, nil
	}
	defer func() { _ = answer.Body.Close() }() // only read
	var e remoteError
	if err := json.NewDecoder(answer.Body).Decode(&e); err != nil {
		return nil, lost(ctx, method, err)
	}
	return nil, e.asError()
}

// lost is the error of a call whose answer did not come.
func lost(ctx context.Context, method string, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%s: %w", method, context.Cause(ctx))
	}
	return fmt.Errorf("%s: %w: %w", method, container.ErrUnavailable, err)
}

// ask calls a method that takes and gives plain values.
func ask[T any](ctx context.Context, r *Remote, method string, c call) (answer T, err error) {
	body, err := json.Marshal(c)
	if err != nil {
		return answer, err
	}
	stream, err := r.send(ctx, method, nil, bytes.NewReader(body))
	if err != nil {
		return answer, err
	}
	defer func() { _ = stream.Close() }() // only read
	if err := json.NewDecoder(stream).Decode(&answer); err != nil {
		return answer, lost(ctx, method, err)
	}
	_, _ = io.Copy(io.Discard, stream) // so that the connection is used again
	return answer, nil
}

// Observe implements container.Engine.
func (r *Remote) Observe(ctx context.Context, owner string) ([]container.Instance, error) {
	return ask[[]container.Instance](ctx, r, "Observe", call{ID: owner})
}

// Inspect implements container.Engine.
func (r *Remote) Inspect(ctx context.Context, id string) (container.Instance, error) {
	return ask[container.Instance](ctx, r, "Inspect", call{ID: id})
}

// Start implements container.Engine.
func (r *Remote) Start(ctx context.Context, w container.Workload) (container.Instance, error) {
	return ask[container.Instance](ctx, r, "Start", call{Workload: w.WithLabels(map[string]string{container.LabelDaemon: r.daemon})})
}

// Wait implements container.Engine.
func (r *Remote) Wait(ctx context.Context, id string) (container.Exit, error) {
	for {
		exit, err := ask[container.Exit](ctx, r, "Wait", call{ID: id})
		if ctx.Err() != nil || !container.Unavailable(err) {
			return exit, err
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
		}
	}
}

// Stop implements container.Engine.
func (r *Remote) Stop(ctx context.Context, id string, grace time.Duration) error {
	return r.do(ctx, "Stop", call{ID: id, Grace: grace})
}

func (r *Remote) do(ctx context.Context, method string, c call) error {
	_, err := ask[struct{}](ctx, r, method, c)
	return err
}

// Remove implements container.Engine.
func (r *Remote) Remove(ctx context.Context, id string) error {
	return r.do(ctx, "Remove", call{ID: id})
}

// Exec implements container.Execer.
func (r *Remote) Exec(ctx context.Context, id string, cmd container.Command) (int, error) {
	c := call{ID: id, Command: remoteCommand{Argv: cmd.Argv, Env: cmd.Env, User: cmd.User, Workdir: cmd.Workdir}}
	if cmd.Terminal != nil {
		c.Value = rand.Text()
	}
	text, err := json.Marshal(c)
	if err != nil {
		return 0, err
	}
	if cmd.Terminal != nil {
		over, stop := context.WithCancel(ctx)
		defer stop()
		go r.resize(over, c.Value, cmd.Terminal)
	}
	stream, err := r.send(ctx, "Exec", url.Values{"call": {string(text)}}, cmd.Stdin)
	if err != nil {
		return 0, err
	}
	defer func() { _ = stream.Close() }() // only read
	for messages := json.NewDecoder(stream); ; {
		var next said
		if err := messages.Decode(&next); err != nil {
			return 0, lost(ctx, "Exec", err)
		}
		switch {
		case next.Failed != nil && ctx.Err() != nil:
			return 0, fmt.Errorf("Exec: %w", context.Cause(ctx))
		case next.Failed != nil:
			return 0, next.Failed.asError()
		case next.Exit != nil:
			_, _ = io.Copy(io.Discard, stream)
			return *next.Exit, nil
		}
		if err := errors.Join(pass(cmd.Stdout, next.Out), pass(cmd.Stderr, next.Err)); err != nil {
			return 0, err
		}
	}
}

// resize tells a command that runs at a terminal its sizes.
func (r *Remote) resize(ctx context.Context, command string, sizes <-chan container.Size) {
	for {
		select {
		case size, open := <-sizes:
			if !open || r.do(ctx, "Resize", call{Value: command, Size: size}) != nil {
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// pass writes to who may not want it.
func pass(to io.Writer, text []byte) error {
	if to == nil || len(text) == 0 {
		return nil
	}
	_, err := to.Write(text)
	return err
}

// CopyTo implements container.Copier.
func (r *Remote) CopyTo(ctx context.Context, id, dir string, tar io.Reader) error {
	in := &remembering{Reader: tar}
	stream, err := r.send(ctx, "CopyTo", url.Values{"id": {id}, "path": {dir}}, in)
	if broken := in.err.Load(); broken != nil {
		return fmt.Errorf("copy to %q in container %q: %w", dir, id, *broken)
	}
	if err != nil {
		return err
	}
	return stream.Close()
}

// remembering tells the engine's failures from its caller's.
type remembering struct {
	io.Reader
	err atomic.Pointer[error]
}

func (r *remembering) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		r.err.Store(&err)
	}
	return n, err
}

// CopyFrom implements container.Copier.
func (r *Remote) CopyFrom(ctx context.Context, id, path string) (io.ReadCloser, error) {
	return r.send(ctx, "CopyFrom", url.Values{"id": {id}, "path": {path}}, nil)
}

// Freeze implements container.Freezer.
func (r *Remote) Freeze(ctx context.Context, id string) error {
	return r.do(ctx, "Freeze", call{ID: id})
}

// Thaw implements container.Freezer.
func (r *Remote) Thaw(ctx context.Context, id string) error { return r.do(ctx, "Thaw", call{ID: id}) }

// Usage implements container.Meter.
func (r *Remote) Usage(ctx context.Context, id string) (container.Usage, error) {
	return ask[container.Usage](ctx, r, "Usage", call{ID: id})
}

// Image implements container.Images.
func (r *Remote) Image(ctx context.Context, ref string) (container.Image, error) {
	return ask[container.Image](ctx, r, "Image", call{ID: ref})
}

// Pull implements container.Images.
func (r *Remote) Pull(ctx context.Context, ref, platform string) (container.Image, error) {
	return ask[container.Image](ctx, r, "Pull", call{ID: ref, Value: platform})
}

// Tag implements container.Images.
func (r *Remote) Tag(ctx context.Context, ref, name string) error {
	return r.do(ctx, "Tag", call{ID: ref, Value: name})
}

// Push implements container.Images.
func (r *Remote) Push(ctx context.Context, ref string) (string, error) {
	return ask[string](ctx, r, "Push", call{ID: ref})
}

// Commit implements container.Images.
func (r *Remote) Commit(ctx context.Context, id, ref string, c container.ImageConfig) (container.Image, error) {
	return ask[container.Image](ctx, r, "Commit", call{ID: id, Value: ref, Config: c})
}

// ListImages implements container.Images.
func (r *Remote) ListImages(ctx context.Context, key, value string) ([]container.Image, error) {
	return ask[[]container.Image](ctx, r, "ListImages", call{ID: key, Value: value})
}

// Names implements container.Images.
func (r *Remote) Names(ctx context.Context) (map[string]string, error) {
	return ask[map[string]string](ctx, r, "Names", call{})
}

// RemoveImage implements container.Images.
func (r *Remote) RemoveImage(ctx context.Context, ref string) error {
	return r.do(ctx, "RemoveImage", call{ID: ref})
}

// HostInfo implements container.Host.
func (r *Remote) HostInfo(ctx context.Context) (container.HostInfo, error) {
	return ask[container.HostInfo](ctx, r, "HostInfo", call{})
}
