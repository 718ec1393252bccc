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
		id, err := m.pin(ctx, s, *ref)
		if err != nil {
			return t, err
		}
		*ref = id
	}
	return t, nil
}

// pin is what a name of an image meant when the execution first needed it, or the name where
// that cannot be told: whoever uses it says what is wrong with it.
func (m *Machine) pin(ctx context.Context, s State, ref string) (string, error) {
	if m.host.Pin == nil || ref == "" {
		return ref, nil
	}
	id, err := m.host.Pin(ctx, s, ref, func() (string, error) {
		img, err := m.host.Images.Resolve(ctx, ref, s.Cell.Task.Platform)
		return img.ID, err
	})
	switch {
	case ctx.Err() != nil || container.Unavailable(err):
		return "", err
	case err != nil:
		m.log.Debug("the image's name is not resolved yet", "image", ref, "error", err)
		return ref, nil
	}
	if images, ok := m.host.Engine.(container.Images); ok {
		if _, err := images.Image(ctx, id); err != nil {
			return ref, nil // it was removed meanwhile: the name is all there is
		}
	}
	return id, nil
}
