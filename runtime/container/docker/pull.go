package docker

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/distribution/reference"
	"github.com/moby/moby/api/types/jsonstream"
	"github.com/moby/moby/client"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/assayd/assayd/runtime/container"
)

// stall is how long a pull may be without any sign of progress.
const stall = 2 * time.Minute

// Pull implements container.Images. Callers that want the same image share one pull. A
// caller whose context ends leaves; the pull goes on and serves the next.
func (e *Engine) Pull(ctx context.Context, ref, platform string) (container.Image, error) {
	parsed, err := reference.ParseNormalizedNamed(ref)
	if err != nil {
		return container.Image{}, fmt.Errorf("pull image %q: %w", ref, err)
	}
	options, err := pullOptions(platform)
	if err != nil {
		return container.Image{}, fmt.Errorf("pull image %q: %w", ref, err)
	}
	over := make(chan error, 1)
	e.work.Go(func() { // for each caller: the first one's pulls, and the others' wait for it
		_, err, _ := e.pulls.Do(ref+" "+platform, func() (any, error) { return nil, e.pull(e.life, ref, parsed, options) })
		over <- err
	})
	select {
	case err := <-over:
		if err != nil {
			return container.Image{}, err
		}
		return e.Image(ctx, ref)
	case <-ctx.Done():
		return container.Image{}, fmt.Errorf("pull image %q: %w", ref, context.Cause(ctx))
	}
}

func pullOptions(platform string) (client.ImagePullOptions, error) {
	if platform == "" {
		return client.ImagePullOptions{}, nil
	}
	parts := strings.Split(platform, "/")
	if len(parts) < 2 || len(parts) > 3 || slices.Contains(parts, "") {
		return client.ImagePullOptions{}, fmt.Errorf("platform %q is not like linux/amd64", platform)
	}
	p := ocispec.Platform{OS: parts[0], Architecture: parts[1]}
	if len(parts) == 3 {
		p.Variant = parts[2]
	}
	return client.ImagePullOptions{Platforms: []ocispec.Platform{p}}, nil
}

var errStalled = fmt.Errorf("%w: no progress for %s", container.ErrRegistry, stall)

// pull fetches the image.
func (e *Engine) pull(life context.Context, ref string, named reference.Named, options client.ImagePullOptions) (err error) {
	if options.RegistryAuth, err = credentials(life, reference.Domain(named)); err != nil {
		return fmt.Errorf("pull image %q: %w", ref, err)
	}
	ctx, cancel := context.WithCancelCause(life)
	defer cancel(nil)
	err = attend(ctx, cancel, func() (messages, error) { return e.streams.ImagePull(ctx, ref, options) }, nil)
	return failure(ctx, explain(err, reference.Domain(named)), "pull image %q", ref)
}

// messages is what the engine tells of a transfer while it is under way.
type messages interface {
	JSONMessages(ctx context.Context) iter.Seq2[jsonstream.Message, error]
}

// attend reads the messages of a transfer to the end. Each counts as progress; without any
// for too long the transfer is cancelled. hear, if not nil, gets what is said aside.
func attend(ctx context.Context, cancel context.CancelCauseFunc, begin func() (messages, error), hear func(*json.RawMessage)) error {
	watchdog := time.AfterFunc(stall, func() { cancel(errStalled) })
	defer watchdog.Stop()
	stream, err := begin()
	if err != nil {
		return err
	}
	for message, err := range stream.JSONMessages(ctx) {
		watchdog.Reset(stall)
		switch {
		case err != nil:
			return err
		case message.Error != nil:
			return message.Error
		case message.Aux != nil && hear != nil:
			hear(message.Aux)
		}
	}
	return nil
}

// What the engine passes on of a registry's refusals, and of its own trouble on the way
// there. A refusal comes first: some engines speak of a login wherever they were refused.
var (
	absent = []string{"manifest unknown", "manifest for ", "no matching manifest", "repository does not exist", "name unknown", "name_unknown"}
	denied = []string{"denied", "unauthorized", "authentication required", "no basic auth credentials", "forbidden"}
	silent = []string{
		"dial tcp", "i/o timeout", "connection refused", "tls handshake timeout", "request canceled", "network is unreachable", "context deadline exceeded",
	}
	passing = []string{
		"connection reset", "eof", "broken pipe",
		"toomanyrequests", "too many requests", "500 internal server error", "502 bad gateway",
		"503 service unavailable", "504 gateway timeout", "received unexpected http status: 5", "response status code 5",
		"server error", "unexpected status: 5", "unavailable",
	}
)

// explain adds to a refusal of the registry, or of the way to it, which of the two it is.
func explain(err error, registry string) error {
	if err == nil || unreachable(err) {
		return err
	}
	text := strings.ToLower(err.Error())
	mentions := func(symptoms []string) bool {
		return slices.ContainsFunc(symptoms, func(s string) bool { return strings.Contains(text, s) })
	}
	switch {
	case mentions(absent):
		return fmt.Errorf("%w: registry %s does not have it, or not for everybody: %w", container.ErrNotFound, registry, err)
	case mentions(denied):
		return fmt.Errorf("%w: %s: %w", container.ErrDenied, registry, err)
	case strings.Contains(text, "no such host"):
		return fmt.Errorf("%w: no name server knows %s: %w", container.ErrNoSuchRegistry, registry, err)
	case mentions(silent):
		return fmt.Errorf("%w: %w: registry %s cannot be reached, or not now: %w", container.ErrRegistry, container.ErrNoAnswer, registry, err)
	case mentions(passing):
		return fmt.Errorf("%w: registry %s cannot be reached, or not now: %w", container.ErrRegistry, registry, err)
	}
	return err
}

// lastWord reads a stream of messages to its end and returns the error that is in it.
func lastWord(r io.Reader) error {
	for decoder := json.NewDecoder(r); ; {
		var message jsonstream.Message
		switch err := decoder.Decode(&message); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case message.Error != nil:
			return message.Error
		}
	}
}

// instructions writes a configuration as lines of a Dockerfile.
func instructions(c container.ImageConfig) ([]string, error) {
	var lines []string
	if c.User != "" {
		lines = append(lines, "USER "+c.User)
	}
	if c.Workdir != "" {
		lines = append(lines, "WORKDIR "+c.Workdir)
	}
	for _, key := range slices.Sorted(maps.Keys(c.Env)) {
		lines = append(lines, "ENV "+key+"="+quote(c.Env[key]))
	}
	for _, key := range slices.Sorted(maps.Keys(c.Labels)) {
		lines = append(lines, "LABEL "+key+"="+quote(c.Labels[key]))
	}
	if len(c.Cmd) > 0 {
		list, err := json.Marshal(c.Cmd)
		if err != nil {
			return nil, err
		}
		lines = append(lines, "CMD "+string(list))
	}
	for _, line := range lines {
		if strings.ContainsAny(line, "\r\n") {
			return nil, fmt.Errorf("image configuration: %q has a line break", line)
		}
	}
	return lines, nil
}

// quote protects a value from the Dockerfile's own reading.
func quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, `$`, `\$`).Replace(s) + `"`
}

// trimmed is text of the engine without the white space around it.
func trimmed(b []byte) string { return string(bytes.TrimSpace(b)) }
