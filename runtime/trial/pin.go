package trial

import (
	"context"

	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/task"
)

// pinned returns the task with every image it names replaced by what the name meant when
// the execution first needed it: a tag that moves during a run changes no later trial.
func (m *Machine) pinned(ctx context.Context, s State) (task.Task, error) {
	t := s.Cell.Task
	if m.host.Pin == nil {
		return t, nil
	}
	refs := []*string{&t.Image, &t.Work.Image, &t.Judge.Image}
	if t.Base != nil && t.Base.Ref == "" { // else its name says what is in it
		base := *t.Base
		t.Base = &base
		refs = append(refs, &base.Image)
	}
	for _, stage := range []**task.Stage{&t.Judge.Run, &t.Judge.Grade} {
		if *stage != nil {
			own := **stage
			*stage = &own
			refs = append(refs, &own.Image)
		}
	}
	for _, ref := range refs {
		if *ref == "" {
			continue
		}
		id, err := m.host.Pin(ctx, s, *ref, func() (string, error) {
			img, err := m.host.Images.Resolve(ctx, *ref, t.Platform)
			return img.ID, err
		})
		switch {
		case ctx.Err() != nil || container.Unavailable(err):
			return t, err
		case err != nil: // the build says what is wrong with the name, and for which image
			m.log.Debug("the image's name is not resolved yet", "image", *ref, "error", err)
			continue
		}
		if images, ok := m.host.Engine.(container.Images); ok {
			if _, err := images.Image(ctx, id); err != nil {
				continue // it was removed meanwhile: the name is all there is
			}
		}
		*ref = id
	}
	return t, nil
}
