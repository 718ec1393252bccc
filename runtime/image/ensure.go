package image

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/assayd/assayd/runtime/container"
)

// named returns the image whose name the task's format fixes, when it is there. The name is
// a hash of what the format says of it, so nothing else is asked, not even for its parent.
func (b *Builder) named(ctx context.Context, r recipe, platform string) (Built, bool, error) {
	got, err := b.ready(ctx, r, platform)
	if b.makes(err) {
		return Built{}, false, nil
	}
	return got, err == nil, err
}

// ready is named with the answer of the registry.
func (b *Builder) ready(ctx context.Context, r recipe, platform string) (Built, error) {
	if r.Name == "" || b.images == nil {
		return Built{}, errNoName
	}
	img, err := b.images.Image(ctx, r.Name)
	pulled := errors.Is(err, container.ErrNotFound) && !b.look
	if pulled && b.pulls {
		img, err = b.Pull(ctx, r.Name, platform)
	} else if pulled {
		img, err = b.fetch(ctx, r.Name, platform)
	}
	if err != nil {
		if b.makes(err) && !errors.Is(err, container.ErrNotFound) {
			b.opts.Log.Warn("the image is built, because the registry of the settings did not give it", "image", r.Name, "error", err)
		}
		return Built{}, err
	}
	b.used(ctx, r.Name)
	got := b.asIs(r.Name, img, r)
	got.AsIs = false
	return got, nil
}

// makes reports whether an image that could not be had is to be made.
func (b *Builder) makes(err error) bool {
	if errors.Is(err, errNoName) {
		return true
	}
	return !b.pulls && (container.Final(err) || errors.Is(err, container.ErrRegistry))
}

// errNoName says that the format of a task gives an image no name of its own.
var errNoName = errors.New("the name of the image is ours to choose")

// asIs describes an image to which nothing has to be added.
func (b *Builder) asIs(ref string, img container.Image, r recipe) Built {
	_, pulled := b.arrived.LoadAndDelete(ref)
	return Built{
		Ref: ref, ID: img.ID, Digests: img.Digests, Cached: true, AsIs: true, Pulled: pulled,
		Config: r.config(img.Config), Role: r.Role,
	}
}

// errLookedOnly says that an image is not there, and that nobody was asked to make it.
var errLookedOnly = fmt.Errorf("%w on this machine", container.ErrNotFound)

// ensure returns the image of the recipe under the name that the recipe gives it. All tasks with
// an equal recipe get the same image: it is looked up, or built once however many ask.
func (b *Builder) ensure(ctx context.Context, r recipe, parent container.Image, platform string, labels map[string]string) (Built, error) {
	r.Owner = b.opts.Owner
	ref, err := r.ref()
	if err != nil {
		return Built{}, err
	}
	if b.look {
		return b.lookUp(ctx, ref, r, parent)
	}
	built, err := b.builds.do(ctx, r.shared(), func(ctx context.Context) (Built, error) {
		return b.provide(ctx, ref, r, parent, platform, labels)
	})
	if err != nil {
		return Built{}, fmt.Errorf("build %s image of %s/%s: %w", r.Role, r.Benchmark, r.Subject, err)
	}
	if built.Ref != ref { // another task with this recipe asked first
		if err := b.images.Tag(ctx, built.ID, ref); err != nil {
			return Built{}, fmt.Errorf("name the image %s: %w", ref, err)
		}
		built.Ref, built.Cached, built.Seconds = ref, true, 0
	}
	b.used(ctx, ref)
	return built, nil
}

// lookUp is ensure for those who only look: what is not there is not made, and what another
// task had made is not named.
func (b *Builder) lookUp(ctx context.Context, ref string, r recipe, parent container.Image) (Built, error) {
	img, err := b.find(ctx, ref, r)
	switch {
	case errors.Is(err, container.ErrNotFound):
		return Built{}, fmt.Errorf("image %s: %w", ref, errLookedOnly)
	case err != nil:
		return Built{}, err
	}
	return Built{Ref: ref, ID: img.ID, Parent: parent.ID, Role: r.Role, Cached: true, Config: img.Config}, nil
}

// provide finds the image of the recipe or makes it, and gives it its names.
func (b *Builder) provide(ctx context.Context, ref string, r recipe, parent container.Image, platform string, labels map[string]string) (Built, error) {
	built := Built{Ref: ref, Parent: parent.ID, Role: r.Role, Cached: true}
	img, err := b.find(ctx, ref, r)
	if errors.Is(err, container.ErrNotFound) && b.pulls {
		img, err = b.Pull(ctx, ref, platform)
		built.Pulled, built.Digests = true, img.Digests
	} else if errors.Is(err, container.ErrNotFound) {
		began := time.Now()
		img, err = b.build(ctx, r, parent, labels)
		took := time.Since(began)
		built.Cached, built.Seconds = false, took.Seconds()
		if b.opts.Made != nil {
			b.opts.Made(r.Role, took, err)
		}
	}
	if err != nil {
		return Built{}, err
	}
	if !built.Cached {
		b.opts.Log.Info("image built", "image", ref, "seconds", built.Seconds)
	}
	built.ID, built.Config = img.ID, img.Config
	return built, b.name(ctx, img, ref, r)
}

// find looks for the image of the recipe: under the name ref, else as another task had it built.
func (b *Builder) find(ctx context.Context, ref string, r recipe) (container.Image, error) {
	img, err := b.images.Image(ctx, ref)
	if err == nil && (r.Name != "" || r.made(img)) || err != nil && !errors.Is(err, container.ErrNotFound) {
		return img, err
	}
	if img, err = b.images.Image(ctx, r.shared()); err == nil && !r.made(img) {
		return container.Image{}, fmt.Errorf("image %s: %w: that of this name has another recipe", r.shared(), container.ErrNotFound)
	}
	return img, err
}

// name gives an image those of its names that it lacks: ref, and where it is ours the one that
// all tasks with its recipe share.
func (b *Builder) name(ctx context.Context, img container.Image, ref string, r recipe) error {
	names := []string{ref}
	if r.made(img) && img.Config.Labels[LabelImageOwner] == r.Owner {
		names = append(names, r.shared())
	}
	for _, name := range names {
		if slices.ContainsFunc(img.Refs, func(has string) bool { return sameName(has, name) }) {
			continue
		}
		if err := b.images.Tag(ctx, img.ID, name); err != nil {
			return fmt.Errorf("name the image %s: %w", name, err)
		}
	}
	return nil
}
