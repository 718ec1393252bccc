package image

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/distribution/reference"

	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/fault"
	"github.com/assayd/assayd/runtime/task"
)

// Garbage says which of the images that this Builder's owner made may go.
type Garbage struct {
	// Needed are the ids of images that stay whatever else holds, with all they are made of.
	Needed map[string]bool
	// Keep is how many bytes of images that nobody needs stay, the last used ones.
	Keep int64
	// Before: what was used since then stays.
	Before time.Time
	// Over are the ids of images that something used which has ended, and when it did. Such an
	// image, and what it is made of, may go all the same if nobody used it since.
	Over map[string]time.Time
	// Used says when an image of that name was last asked for; zero = not known.
	Used func(ref string) time.Time
	// Dry only tells what would go.
	Dry bool
}

// Collected is an image that went.
type Collected struct {
	Name  string    `json:"name"`  // one of them, where several tasks share it
	Bytes int64     `json:"bytes"` // what nothing else shares
	Used  time.Time `json:"used"`
}

// used tells of an image that was asked for.
func (b *Builder) used(ctx context.Context, ref string) {
	if b.opts.Used != nil && !b.look {
		b.opts.Used(ctx, ref)
	}
}

// Present returns the ids of those images of a task that are on this machine. Nothing is
// pulled or built.
func (b *Builder) Present(ctx context.Context, t task.Task) (ids []string, err error) {
	v := New(b.opts)
	v.look = true
	makers := []func(context.Context, task.Task, map[string]string) (Built, error){v.Work, v.Judge}
	if t.Base != nil {
		makers = append(makers, v.Base)
	}
	for _, look := range makers {
		got, err := look(ctx, t, nil)
		_, wrong := errors.AsType[*SetupError](err) // the task has no such image, and will have none
		switch {
		case err == nil:
			ids = append(ids, got.ID)
		case !wrong && !errors.Is(err, container.ErrNotFound):
			return nil, err
		}
	}
	return ids, nil
}

// owned is an image of ours while garbage is collected.
type owned struct {
	container.Image
	parent string
	name   string // one that a Builder gave it; its id when it has none
	own    int64  // bytes that its parent has not
	used   time.Time
	over   time.Time // when its last user ended; zero = that is not known
}

// mayGo reports whether nobody may be about to use the image.
func (o *owned) mayGo(g Garbage) bool {
	return o.used.Before(g.Before) || !o.used.After(o.over)
}

// errTooYoung keeps an image that was used of late.
var errTooYoung = errors.New("used of late")

// Collect removes images of this owner that g lets go, the least recently used first and
// what an image is made of after the image. One that a container was made from stays.
// Images of anybody else are never touched.
func (b *Builder) Collect(ctx context.Context, g Garbage) (gone []Collected, err error) {
	if b.images == nil {
		return nil, fmt.Errorf("collect images: %w", container.ErrUnsupported)
	}
	all, err := b.ours(ctx, g)
	if err != nil {
		return nil, err
	}
	for id := range g.Needed {
		spare(all, id)
	}
	for id, ended := range g.Over {
		for at := all[id]; at != nil && at.over.Before(ended); at = all[at.parent] {
			at.over = ended
		}
	}
	var size int64
	for _, img := range all {
		size += img.own
	}
	var errs []error
	for size > g.Keep || g.Keep == 0 { // some have no bytes of their own
		next := oldest(all)
		if next == nil {
			break
		}
		err := errTooYoung
		if next.mayGo(g) {
			err = b.discard(ctx, next, g.Dry)
		}
		if err == nil {
			delete(all, next.ID)
			size -= next.own
			gone = append(gone, Collected{next.name, next.own, next.used})
			continue
		}
		if !errors.Is(err, container.ErrConflict) && !errors.Is(err, errTooYoung) {
			errs = append(errs, err)
		}
		spare(all, next.ID)
	}
	return gone, errors.Join(errs...)
}

// ours lists the images that this owner made, by id. What somebody made from one of them
// has all of its labels, but none of its names.
func (b *Builder) ours(ctx context.Context, g Garbage) (map[string]*owned, error) {
	found, err := b.images.ListImages(ctx, LabelImageOwner, b.opts.Owner)
	if err != nil {
		return nil, err
	}
	all := map[string]*owned{}
	for _, img := range found {
		o := &owned{Image: img, parent: img.Config.Labels[LabelParent], own: img.Size, used: img.Created, name: called(img)}
		for _, ref := range img.Refs {
			if used := g.Used(ref); used.After(o.used) {
				o.used = used
			}
		}
		if o.name == "" {
			continue
		}
		if o.parent != "" {
			switch parent, err := b.images.Image(ctx, o.parent); {
			case err == nil:
				o.own = max(img.Size-parent.Size, 0)
			case !errors.Is(err, container.ErrNotFound):
				return nil, err
			}
		}
		all[img.ID] = o
	}
	return all, nil
}

// called is what to call an image that has a name of ours: that of a task before the one that
// all tasks of its recipe share. It is the id of an image without names, and empty for one that
// has only names of others.
func called(img container.Image) string {
	if len(img.Refs) == 0 {
		return img.ID
	}
	name, ours := "", false
	for _, ref := range img.Refs {
		switch tag := ref[strings.LastIndexByte(ref, ':')+1:]; {
		case sameName(ref, img.Config.Labels[LabelName]):
			name, ours = cmp.Or(name, ref), true
		case len(tag) == tagDigits && strings.HasPrefix(img.Config.Labels[LabelRecipe], tag):
			return ref
		default: // of others, or one that the format of a task fixes
			name = ref
		}
	}
	if !ours {
		return ""
	}
	return name
}

// sameName reports whether two names are one, however much of a registry they tell.
func sameName(a, b string) bool {
	one, err := reference.ParseNormalizedNamed(a)
	other, oerr := reference.ParseNormalizedNamed(b)
	return err == nil && oerr == nil && one.String() == other.String()
}

// spare takes an image, and what it is made of, from those that may go. Parents are followed
// through those of ours only: what is not ours does not go.
func spare(all map[string]*owned, id string) {
	for at := all[id]; at != nil; at = all[at.parent] {
		delete(all, at.ID)
	}
}

// oldest is the least recently used image that no other one is made from.
func oldest(all map[string]*owned) *owned {
	parents := map[string]bool{}
	for _, img := range all {
		parents[img.parent] = true
	}
	var leaves []*owned
	for id, img := range all {
		if !parents[id] {
			leaves = append(leaves, img)
		}
	}
	if len(leaves) == 0 {
		return nil
	}
	return slices.MinFunc(leaves, func(a, b *owned) int {
		return cmp.Or(a.used.Compare(b.used), cmp.Compare(a.ID, b.ID))
	})
}

// discard removes all names of an image, the one it was built as at last. A container of
// anybody keeps the image, and it keeps its names.
func (b *Builder) discard(ctx context.Context, img *owned, dry bool) error {
	if dry {
		return nil
	}
	last := img.name
	for _, ref := range img.Refs {
		if sameName(ref, img.Config.Labels[LabelName]) {
			last = ref
		}
	}
	refs := slices.DeleteFunc(slices.Clone(img.Refs), func(ref string) bool { return ref == last })
	for i, ref := range append(refs, last) {
		err := b.images.RemoveImage(ctx, ref)
		if err == nil {
			continue
		}
		for _, gone := range refs[:i] {
			err = errors.Join(err, b.images.Tag(ctx, img.ID, gone))
		}
		return err
	}
	fault.Reached(fault.ImageRemoved)
	b.opts.Log.Info("image removed", "image", img.name, "bytes", img.own)
	return nil
}
