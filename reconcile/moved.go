package reconcile

import (
	"context"
	"time"

	"github.com/assayd/assayd/runtime/clock"
	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/image"
)

const (
	imagesEvery  = time.Minute     // between two looks at the names of images
	imagesWithin = 5 * time.Second // bounds one, as users wait for some
)

// watchImages looks at the names of images until the context ends.
func (r *Reconciler) watchImages(ctx context.Context) {
	for clock.Sleep(ctx, imagesEvery) == nil {
		r.lookAtImages(ctx)
	}
}

// lookAtImages notes which image each name means now. Where a name that a run is made of
// means another one than at the last look, it is found out anew which runs are stale. An
// engine that does not answer is asked the next time.
func (r *Reconciler) lookAtImages(ctx context.Context) {
	if names := r.imageNames(ctx); names != nil {
		_ = r.do(ctx, func() { r.named(ctx, names) }) // fails where the loop has ended
	}
}

// imageNames are the ids of the engine's images by full name; nil = they are not known.
func (r *Reconciler) imageNames(ctx context.Context) map[string]string {
	images, ok := r.o.Host.Engine.(container.Images)
	if !ok || r.o.Idle {
		return nil
	}
	asked, cancel := context.WithTimeout(ctx, imagesWithin)
	defer cancel()
	found, err := images.Names(asked)
	if err != nil {
		r.o.Log.Debug("look at the names of images", "error", err)
		return nil
	}
	names := make(map[string]string, len(found))
	for name, id := range found {
		names[image.FullName(name)] = id
	}
	delete(names, "") // what has no name
	return names
}

func (r *Reconciler) named(ctx context.Context, names map[string]string) {
	before := r.contents.Names()
	r.contents.SetNames(names)
	if r.specs.Set() == nil || !r.usesAny(func(name string) bool { return names[name] != before[name] }) {
		return
	}
	if err := r.specs.Again(ctx); err != nil {
		r.contents.SetNames(before) // the next look tries again
		r.o.Log.Error("take up the names of images", "error", err)
	}
}

// usesAny reports whether a run in force is made of an image with such a full name.
func (r *Reconciler) usesAny(is func(name string) bool) bool {
	for _, d := range r.desired {
		for ref := range d.Images {
			if is(image.FullName(ref)) {
				return true
			}
		}
	}
	return false
}
