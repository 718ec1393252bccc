package evaluate

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/patch"
	"github.com/assayd/assayd/runtime/task"
	"github.com/assayd/assayd/runtime/trial"
	"github.com/assayd/assayd/runtime/trial/worktree"
)

// evaluatePatch lays a patch over the tree that agents of the task begin with, and has what
// it changes judged as an agent's work in single mode would be. Of a patch that does not
// apply there is no verdict.
func (r *Evaluator) evaluatePatch(ctx context.Context, t task.Task, session round.Session, e Evaluation, out *Evaluated) (err error) {
	h := r.o.Host
	labels := map[string]string{
		container.LabelOwner: h.Owner, container.LabelTrial: out.Session, container.LabelRole: container.RoleBuild,
	}
	work, err := h.Images.Work(ctx, t, labels)
	if err != nil {
		return fmt.Errorf("make the work image of %s: %w", out.Task, err)
	}
	out.Provenance.Images["work"] = trial.ImageRef{Ref: work.Ref, ID: work.ID}
	base, err := h.Trees().Base(ctx, t, work.Ref, work.ID, labels)
	if err != nil {
		return err
	}
	changes, err := base.Apply(ctx, e.Patch)
	if errors.Is(err, patch.ErrEmpty) {
		changes, err = &patch.Changes{}, nil
	}
	if refused, ok := errors.AsType[*patch.NotApplied](err); ok {
		out.NotApplied = refused.Error()
		return nil
	}
	if err != nil {
		return fmt.Errorf("apply a patch to the tree of %s: %w", out.Task, err)
	}
	out.Applied = changes.How
	defer func() { err = errors.Join(err, changes.Close()) }()
	return worktree.Packed(changes, func(archive io.Reader) error {
		e.Archive = archive
		return r.judgeIn(ctx, session, e, out)
	})
}
