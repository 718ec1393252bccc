package image

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/distribution/reference"

	"github.com/assayd/assayd/runtime/container"
)

// transferPauses are what is waited before a registry that is out of reach, or has too
// much to do, is asked again.
var transferPauses = []time.Duration{500 * time.Millisecond, 2 * time.Second, 8 * time.Second}

// again does a transfer of ref until it goes well, the registry's answer is final, or there were
// enough tries.
func (b *Builder) again(ctx context.Context, what, ref string, transfer func() error) error {
	if err := b.outages.of(ref); err != nil {
		return err
	}
	for _, pause := range transferPauses {
		err := transfer()
		if !errors.Is(err, container.ErrRegistry) {
			return err
		}
		if b.outages.final(err) {
			return b.outages.add(ref, err)
		}
		b.opts.Log.Warn(what+": once more", "in", pause, "error", err)
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return context.Cause(ctx)
		}
	}
	return b.outages.add(ref, transfer())
}

// outages are the registries that a batch has not reached: a person waits, so it asks each once,
// and not again for each image, and tells once what came of it. Nil knows of none.
type outages struct {
	mu   sync.Mutex
	seen map[string]bool
}

// of is the error of an image whose registry was not reached before.
func (o *outages) of(ref string) error {
	if o == nil {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if at := domain(ref); o.seen[at] {
		return fmt.Errorf("%w: %s, as is told of another image", container.ErrRegistry, at)
	}
	return nil
}

// final reports whether the registry is not to be asked once more.
func (o *outages) final(err error) bool {
	return o != nil && (errors.Is(err, container.ErrNoAnswer) || errors.Is(err, container.ErrNoSuchRegistry))
}

// add notes a registry that was not reached, and returns what is to be told of it.
func (o *outages) add(ref string, err error) error {
	if o == nil || !errors.Is(err, container.ErrRegistry) {
		return err
	}
	if known := o.of(ref); known != nil { // found out at the same time
		return known
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.seen[domain(ref)] = true
	return err
}

// domain is the registry that the name of an image leads to.
func domain(ref string) string {
	named, err := reference.ParseNormalizedNamed(ref)
	if err != nil {
		return ""
	}
	return reference.Domain(named)
}

// remote is the name of an image in the registry of the settings; "" when there is none, or
// when the name says itself where the image is from.
func (b *Builder) remote(ref string) string {
	named, err := reference.ParseNormalizedNamed(ref)
	if b.opts.Registry == "" || err != nil || strings.Contains(ref, "@") || strings.HasPrefix(ref, reference.Domain(named)+"/") {
		return ""
	}
	return strings.TrimSuffix(b.opts.Registry, "/") + "/" + ref
}

// Pull fetches the image ref: from the registry of the settings, when there is one and it
// has the image, which then gets its own name here; else from where its name says.
func (b *Builder) Pull(ctx context.Context, ref, platform string) (container.Image, error) {
	if b.images == nil {
		return container.Image{}, fmt.Errorf("pull image %q: %w", ref, container.ErrUnsupported)
	}
	img, err := b.fetch(ctx, ref, platform)
	if errors.Is(err, container.ErrNotFound) {
		answer := err
		if img, err = b.pull(ctx, ref, platform); err != nil && b.remote(ref) != "" {
			err = fmt.Errorf("%w; the registry of the settings said: %v", err, answer) //nolint:errorlint // the second answer decides
		}
	}
	if err == nil {
		b.arrived.Store(ref, true)
	}
	return img, err
}

// fetch is Pull from the registry of the settings alone.
func (b *Builder) fetch(ctx context.Context, ref, platform string) (container.Image, error) {
	remote := b.remote(ref)
	if remote == "" {
		return container.Image{}, fmt.Errorf("image %q: %w in a registry of the settings", ref, container.ErrNotFound)
	}
	img, err := b.pull(ctx, remote, platform)
	if err != nil {
		return img, err
	}
	if err := b.images.Tag(ctx, remote, ref); err != nil {
		return img, err
	}
	b.arrived.Store(ref, true)
	return img, nil
}

func (b *Builder) pull(ctx context.Context, ref, platform string) (img container.Image, err error) {
	err = b.again(ctx, "pull image "+ref, ref, func() error {
		img, err = b.images.Pull(ctx, ref, platform)
		return err
	})
	if err == nil {
		b.opts.Log.Info("image pulled", "image", ref, "id", img.ID, "digests", img.Digests)
	}
	return img, err
}

// Push sends the image ref to the registry of the settings and returns its name and its
// digest there.
func (b *Builder) Push(ctx context.Context, ref string) (remote, digest string, err error) {
	if b.images == nil {
		return "", "", fmt.Errorf("push image %q: %w", ref, container.ErrUnsupported)
	}
	if remote = b.remote(ref); remote == "" {
		return "", "", fmt.Errorf("push image %q: it has a registry in its name, or the settings have none: set build.registry", ref)
	}
	if err := b.images.Tag(ctx, ref, remote); err != nil {
		return remote, "", err
	}
	err = b.again(ctx, "push image "+remote, remote, func() error {
		digest, err = b.images.Push(ctx, remote)
		return err
	})
	// The second name has done its work; with it the image could never be collected.
	if gone := b.images.RemoveImage(context.WithoutCancel(ctx), remote); gone != nil {
		b.opts.Log.Warn("the name of a pushed image is left behind", "image", remote, "error", gone)
	}
	if err == nil {
		b.opts.Log.Info("image pushed", "image", remote, "digest", digest)
	}
	return remote, digest, err
}
