package docker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"sync"

	"github.com/moby/moby/client"
)

// CopyTo implements container.Copier. Owners and modes are those of the tar stream. A
// folder never takes a file's place, nor a file a folder's.
func (e *Engine) CopyTo(ctx context.Context, id, dir string, tar io.Reader) error {
	if err := checkName(id); err != nil {
		return fmt.Errorf("copy to container: %w", err)
	}
	src := &source{r: tar}
	_, err := e.streams.CopyToContainer(ctx, id, client.CopyToContainerOptions{
		DestinationPath: path.Clean("/" + dir), Content: src,
	})
	if ctx.Err() == nil {
		// The transport may be in the middle of a read, even after an answer.
		if fault := src.detach(); fault != nil {
			return fmt.Errorf("copy to %q in container %q: read the source: %w", dir, id, fault)
		}
	}
	return failure(ctx, err, "copy to %q in container %q", dir, id)
}

// source is the caller's reader until it is detached. Its error is remembered, because
// the transport makes it look like one of the connection.
type source struct {
	r io.Reader

	mu       sync.Mutex
	detached bool
	err      error
}

func (s *source) Read(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.detached {
		return 0, io.ErrClosedPipe
	}
	n, err := s.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}

func (s *source) detach() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.detached = true
	return s.err
}

// CopyFrom implements container.Copier. The stream ends early with an error when the
// context ends. A link at path itself is copied as a link, unless a slash ends it.
func (e *Engine) CopyFrom(ctx context.Context, id, name string) (io.ReadCloser, error) {
	if err := checkName(id); err != nil {
		return nil, fmt.Errorf("copy from container: %w", err)
	}
	source := path.Clean("/" + name)
	if strings.HasSuffix(name, "/") && source != "/" {
		source += "/"
	}
	answer, err := e.streams.CopyFromContainer(ctx, id, client.CopyFromContainerOptions{SourcePath: source})
	if err != nil {
		return nil, failure(ctx, err, "copy %q from container %q", name, id)
	}
	return &archive{ReadCloser: answer.Content, ctx: ctx, what: fmt.Sprintf("copy %q from container %q", name, id)}, nil
}

// archive is a stream whose errors say what was being done.
type archive struct {
	io.ReadCloser
	ctx  context.Context
	what string
}

func (a *archive) Read(p []byte) (int, error) {
	n, err := a.ReadCloser.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = failure(a.ctx, err, "%s", a.what)
	}
	return n, err
}
