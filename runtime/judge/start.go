package judge

import (
	"context"
	"errors"
	"fmt"

	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/fault"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/judge/sandbox"
)

// start gets a fresh container: a warm one, or else a new one. One of the same name is what
// an interrupted judging left behind: it is removed, never used.
func (g *grading) start(ctx context.Context) error {
	engine := g.judge.opts.Engine
	w := g.judge.host.Workload(g.session.terms, g.judge.judgingName(g.sub), g.sub.ID, g.judge.cpus.CPUSet(g.sub.ID))
	g.workload = w
	left, err := engine.Inspect(ctx, w.Name)
	if err == nil {
		err = engine.Remove(ctx, left.ID)
	}
	if err != nil && !errors.Is(err, container.ErrNotFound) {
		return err
	}
	if g.session.warmable() {
		if g.id = g.judge.pool.Take(ctx, w); g.id != "" {
			g.judge.opts.Log.Debug("judging in a warm container", "submission", g.sub.ID, "container", g.id)
			return nil
		}
	}
	inst, err := g.judge.host.Launch(ctx, w)
	if err != nil {
		// One that fails half-way leaves something behind. If that cannot be removed either, the
		// next judging of the submission finds it under the same name.
		after, cancel := sandbox.CleanupContext(ctx)
		defer cancel()
		return errors.Join(err, engine.Remove(after, w.Name))
	}
	g.id = inst.ID
	return nil
}

// judgingName is the name of a cold container for one try at a submission. It is not used again
// once the try has counted: an engine that did not answer may make the container later, and it is
// left to be removed under that name.
func (j *Judge) judgingName(sub round.Submission) string {
	return j.host.ContainerName(fmt.Sprintf("%s-%d", sub.ID, sub.Refunds))
}

// clean removes the container.
func (g *grading) clean(ctx context.Context) {
	if g.id == "" {
		return
	}
	g.judge.host.Remove(ctx, g.id)
	fault.Reached(fault.JudgeRemoved)
}
