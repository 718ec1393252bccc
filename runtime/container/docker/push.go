package docker

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/distribution/reference"
	"github.com/moby/moby/client"
)

// Tag implements container.Images.
func (e *Engine) Tag(ctx context.Context, ref, name string) error {
	if err := checkRef(ref); err != nil {
		return fmt.Errorf("tag: %w", err)
	}
	if err := checkRef(name); err != nil {
		return fmt.Errorf("tag: %w", err)
	}
	_, err := e.calls.ImageTag(ctx, client.ImageTagOptions{Source: ref, Target: name})
	return failure(ctx, err, "tag image %q as %q", ref, name)
}

// Push implements container.Images. It ends with the context.
func (e *Engine) Push(ctx context.Context, ref string) (digest string, err error) {
	named, err := reference.ParseNormalizedNamed(ref)
	if err != nil {
		return "", fmt.Errorf("push image %q: %w", ref, err)
	}
	if _, err := e.Image(ctx, ref); err != nil { // the engine has too many words for it
		return "", fmt.Errorf("push: %w", err)
	}
	registry := reference.Domain(named)
	auth, err := credentials(ctx, registry)
	if err != nil {
		return "", fmt.Errorf("push image %q: %w", ref, err)
	}
	if auth == "" {
		auth = noCredentials // engines before 23 refuse a push that says nothing of it
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	begin := func() (messages, error) {
		return e.streams.ImagePush(ctx, ref, client.ImagePushOptions{RegistryAuth: auth})
	}
	err = attend(ctx, cancel, begin, func(aside *json.RawMessage) {
		var pushed struct{ Digest string }
		if json.Unmarshal(*aside, &pushed) == nil && pushed.Digest != "" {
			digest = pushed.Digest
		}
	})
	if err == nil && digest == "" {
		err = fmt.Errorf("the engine did not tell the digest")
	}
	return digest, failure(ctx, explain(err, registry), "push image %q", ref)
}
