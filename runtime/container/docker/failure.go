package docker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/moby/moby/client"

	"github.com/assayd/assayd/runtime/container"
)

// failure turns an error of the client into one of the contract's kinds, after saying
// what was attempted. When the context has ended, the context's cause is the answer:
// what the client says then is only a consequence.
func failure(ctx context.Context, err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	what := fmt.Sprintf(format, args...)
	if ctx.Err() != nil {
		return fmt.Errorf("%s: %w", what, context.Cause(ctx))
	}
	kind := kindOf(err)
	switch {
	case kind == nil || errors.Is(err, kind):
		return fmt.Errorf("%s: %w", what, err)
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%s: %w: no answer within %s", what, kind, callTimeout)
	case strings.Contains(err.Error(), "permission denied while trying to connect"):
		return fmt.Errorf("%s: %w: %w; may this user use the socket (is it in the group docker)?", what, kind, err)
	}
	return fmt.Errorf("%s: %w: %w", what, kind, err)
}

// kindOf classifies an error of the client; nil means none of the contract's kinds.
func kindOf(err error) error {
	text := err.Error()
	switch {
	case unreachable(err):
		return container.ErrUnavailable
	case strings.Contains(text, "no space left on device"):
		return container.ErrNoSpace
	case commandMissing(text):
		return container.ErrCommandNotFound
	case cerrdefs.IsNotFound(err):
		return container.ErrNotFound
	case cerrdefs.IsConflict(err), conflicts(text):
		return container.ErrConflict
	}
	return nil
}

// conflicts says whether a command met a container that was frozen between the two calls that
// an exec takes. The second one's answers have no kind of their own: Docker's, whose text the
// client drops, that of containerd, which looks first, and that of runc, which looks last.
func conflicts(text string) bool {
	for _, answer := range []string{
		"unable to upgrade to tcp, received 409", "cannot exec in a paused state", "cannot exec in a paused container",
		"is paused, unpause the container before exec",
	} {
		if strings.Contains(text, answer) {
			return true
		}
	}
	return false
}

// unreachable says whether the engine could not be asked, or could not ask its own
// backend, because it is down, starting or going down.
func unreachable(err error) bool {
	var op *net.OpError
	switch {
	case client.IsErrConnectionFailed(err), cerrdefs.IsUnavailable(err), errors.As(err, &op),
		errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, context.DeadlineExceeded):
		return true
	}
	text := err.Error()
	for _, symptom := range []string{
		// The version is agreed with the first answer; a call that was tried while the
		// engine came up uses the client's newest, and is right when it is tried again.
		"is too new. Maximum supported API version is",
		"containerd.sock", "ttrpc: closed", "transport is closing", "shutting down", "grpc: the client connection is closing",
	} {
		if strings.Contains(text, symptom) {
			return true
		}
	}
	return false
}

// commandMissing says whether the runtime could not find the program to execute.
func commandMissing(text string) bool {
	return strings.Contains(text, "executable file not found") ||
		strings.Contains(text, "exec: ") && strings.Contains(text, "no such file or directory") ||
		strings.Contains(text, "exec: ") && strings.Contains(text, "not a directory")
}
