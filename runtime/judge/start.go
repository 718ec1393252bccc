package judge

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/fault"
)

// LabelSubmission is on every judge container: the submission's id.
const LabelSubmission = "assayd.submission"

// name makes a container's name out of what is unique for this owner.
func (j *Judge) name(what string) string {
	return "assayd-j-" + j.opts.Owner[:min(8, len(j.opts.Owner))] + "-" + what
}

// workload is a judge container of the session's task. Its first process is root's, out
// of reach of what is run as the image's user.
func (j *Judge) workload(s *session, name, submission string) container.Workload {
	p := s.Task.Judge.Part
	w := container.Workload{
		Name: name, Image: s.JudgeImage, Argv: j.opts.Hold, Mounts: j.opts.Mounts,
		User: "0:0", Workdir: s.Task.Workdir, Network: container.NetworkNone,
		Limits: container.Limits{
			CPUs: p.CPUs, Memory: p.Memory, PIDs: p.PIDs, Disk: p.Disk, CPUSet: j.cpus.cpuset(submission),
		},
	}
	if s.Task.Judge.Network {
		w.Network = container.NetworkOpen
	}
	w = w.WithLabels(s.Labels).WithLabels(map[string]string{
		container.LabelOwner: j.opts.Owner, container.LabelTrial: s.Trial, container.LabelRole: container.RoleJudge,
	})
	if submission != "" {
		w = w.WithLabels(map[string]string{LabelSubmission: submission})
	}
	return w
}

// start gets a fresh container: a warm one, or else a new one. One of the same name is what
// an interrupted judging left behind: it is removed, never used.
func (g *grading) start(ctx context.Context) error {
	engine := g.judge.opts.Engine
	w := g.judge.workload(g.session, g.judge.judgingName(g.sub), g.sub.ID)
	g.workload = w
	left, err := engine.Inspect(ctx, w.Name)
	if err == nil {
		err = engine.Remove(ctx, left.ID)
	}
	if err != nil && !errors.Is(err, container.ErrNotFound) {
		return err
	}
	if g.session.warmable() {
		if g.id = g.judge.pool.take(ctx, w); g.id != "" {
			g.judge.opts.Log.Debug("judging in a warm container", "submission", g.sub.ID, "container", g.id)
			return nil
		}
	}
	inst, err := g.judge.launch(ctx, w)
	if err != nil {
		// One that fails half-way leaves something behind. If that cannot be removed either, the
		// next judging of the submission finds it under the same name.
		after, cancel := cleanupContext(ctx)
		defer cancel()
		return errors.Join(err, engine.Remove(after, w.Name))
	}
	g.id = inst.ID
	return nil
}

// judgingName is the name of a cold container for one try at a submission. It is not used again
// once the try has counted: an engine that did not answer may make the container later, and it is
// left to be removed under that name.
func (j *Judge) judgingName(sub Submission) string {
	return j.name(fmt.Sprintf("%s-%d", sub.ID, sub.Refunds))
}

// startTime bounds the start of a container, and with it how long the judge may take to
// stop.
const startTime = 30 * time.Second

// launch makes a container run. The end of the context does not break it off, for then
// nobody would know whether there is a container to remove.
func (j *Judge) launch(ctx context.Context, w container.Workload) (container.Instance, error) {
	if ctx.Err() != nil {
		return container.Instance{}, context.Cause(ctx)
	}
	whole, cancel := context.WithTimeout(context.WithoutCancel(ctx), startTime)
	defer cancel()
	return j.opts.Engine.Start(whole, w)
}

// remove removes a container, by its id or by a name that is used but once, now or as soon
// as it can be. What is left by this daemon carries our labels and is swept by the next.
func (j *Judge) remove(ctx context.Context, id string) {
	after, cancel := cleanupContext(ctx)
	defer cancel()
	if err := j.opts.Engine.Remove(after, id); err != nil {
		j.opts.Log.Warn("a judge container could not be removed yet", "container", id, "error", err)
		j.leave(id)
	}
}

// leave has a container removed later that may be there by then.
func (j *Judge) leave(id string) {
	if j.opts.Leave != nil {
		j.opts.Leave(id)
	}
}

// clean removes the container.
func (g *grading) clean(ctx context.Context) {
	if g.id == "" {
		return
	}
	g.judge.remove(ctx, g.id)
	fault.Reached(fault.JudgeRemoved)
}
