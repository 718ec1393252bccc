package reconcile

import (
	"context"
	"log/slog"
	"time"

	"github.com/assayd/assayd/runtime/clock"
	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/image"
)

const (
	imagesEvery  = time.Minute     // between two looks at the names of images
	imagesWithin = 5 * time.Second // bounds one, as users wait for some
)

// imageWatch looks which image each name means. Any goroutine may call watch, look, and names.
type imageWatch struct {
	engine container.Engine
	idle   bool
	log    *slog.Logger
	runs   *runs
	do     func(ctx context.Context, f func()) error // runs f in the loop
}

// watch looks at the names of images until the context ends.
func (w *imageWatch) watch(ctx context.Context) {
	for clock.Sleep(ctx, imagesEvery) == nil {
		w.look(ctx)
	}
}

// look notes which image each name means now. Where a name that a run is made of
// means another one than at the last look, it is found out anew which runs are stale. An
// engine that does not answer is asked the next time.
func (w *imageWatch) look(ctx context.Context) {
	if names := w.names(ctx); names != nil {
		_ = w.do(ctx, func() { w.named(ctx, names) }) // fails where the loop has ended
	}
}

// names are the ids of the engine's images by full name; nil = they are not known.
func (w *imageWatch) names(ctx context.Context) map[string]string {
	images, ok := w.engine.(container.Images)
	if !ok || w.idle {
		return nil
	}
	asked, cancel := context.WithTimeout(ctx, imagesWithin)
	defer cancel()
	found, err := images.Names(asked)
	if err != nil {
		w.log.Debug("look at the names of images", "error", err)
		return nil
	}
	names := make(map[string]string, len(found))
	for name, id := range found {
		names[image.FullName(name)] = id
	}
	delete(names, "") // what has no name
	return names
}

func (w *imageWatch) named(ctx context.Context, names map[string]string) {
	before := w.runs.contents.Names()
	w.runs.contents.SetNames(names)
	if w.runs.specs.Set() == nil || !w.usesAny(func(name string) bool { return names[name] != before[name] }) {
		return
	}
	if err := w.runs.specs.Again(ctx); err != nil {
		w.runs.contents.SetNames(before) // the next look tries again
		w.log.Error("adopt the names of images", "error", err)
	}
}

// usesAny reports whether a run in force is made of an image with such a full name.
func (w *imageWatch) usesAny(is func(name string) bool) bool {
	for _, d := range w.runs.desired {
		for ref := range d.Images {
			if is(image.FullName(ref)) {
				return true
			}
		}
	}
	return false
}
