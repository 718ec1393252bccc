package reconcile

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/assayd/assayd/reconcile/admission"
	"github.com/assayd/assayd/runtime/clock"
	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/mining/workbench"
	"github.com/assayd/assayd/runtime/patch"
	"github.com/assayd/assayd/runtime/task"
	"github.com/assayd/assayd/runtime/waiting"
)

// judgePatch is mining.Options.Judge: what a trial's patch would come to, in a session of its
// own.
func (r *Reconciler) judgePatch(ctx context.Context, t task.Task, diff []byte) (round.Report, error) {
	ask := nothing
	if diff != nil {
		ask = func() (Evaluation, func() error, error) {
			return Evaluation{Patch: diff}, func() error { return nil }, nil
		}
	}
	out, refused, err := r.judgeApart(ctx, t, "mining."+t.Benchmark+": "+t.Name, ask, func(string) {})
	switch {
	case err != nil:
		return round.Report{}, err
	case refused != nil:
		return round.Report{}, fmt.Errorf("have a patch of %s judged: %w", t.Name, refused)
	case out.NotApplied != "":
		return round.Report{}, fmt.Errorf("have a patch of %s judged: %w", t.Name, &patch.NotApplied{Words: out.NotApplied})
	}
	return out.Report, nil
}

// judgeApart has something judged in a session of its own, and waits while the judge is full.
// began hears of each session. A refusal that waiting does not change is returned.
func (r *Reconciler) judgeApart(ctx context.Context, t task.Task, address string, ask asking, began func(session string)) (Evaluated, *round.Refusal, error) {
	return r.judgeBy(ctx, t, func(out *Evaluated) (round.Session, error) {
		out.Task = address
		return r.evalSession(ctx, t, out)
	}, ask, began)
}

// judgeBy is judgeApart with the terms of each session.
func (r *Reconciler) judgeBy(ctx context.Context, t task.Task, terms func(*Evaluated) (round.Session, error), ask asking, began func(session string)) (Evaluated, *round.Refusal, error) {
	for {
		var out Evaluated
		session, err := terms(&out)
		if err != nil {
			return out, nil, err
		}
		e, done, err := ask()
		if err != nil {
			return out, nil, err
		}
		began(out.Session)
		if e.Patch != nil {
			err = r.evaluatePatch(ctx, t, session, e, &out)
		} else {
			err = r.judgeIn(ctx, session, e, &out)
		}
		err = errors.Join(err, done())
		refused, isRefusal := errors.AsType[*round.Refusal](err)
		switch {
		case isRefusal && refused.RetryAfter > 0:
			waiting.Because(ctx, refused)
			if err := clock.Sleep(ctx, refused.RetryAfter); err != nil {
				return out, nil, err
			}
			waiting.Because(ctx, nil)
		case isRefusal:
			return out, refused, nil
		default:
			return out, nil, err
		}
	}
}

// room is mining.Options.Room: a container of a task's work image with network and without any
// credential.
func (r *Reconciler) room(ctx context.Context, t task.Task, use func(ctx context.Context, room workbench.Room) error) error {
	h := r.o.Host
	labels := map[string]string{container.LabelOwner: h.Owner, container.LabelRole: container.RoleBuild}
	work, err := h.Images.Work(ctx, t, labels)
	if err != nil {
		return err
	}
	release, err := r.o.Admission.AcquireWork(ctx, admission.Need{CPUs: t.Work.CPUs, Memory: t.Work.Memory, Disk: t.Work.Disk})
	if err != nil {
		return err
	}
	defer release()
	w := container.Workload{
		Image: work.ID, Workdir: t.Workdir, Network: container.NetworkOpen, Env: h.Images.Lends(), Labels: labels,
		Limits: container.Limits{CPUs: t.Work.CPUs, Memory: t.Work.Memory, PIDs: t.Work.PIDs, Disk: t.Work.Disk},
	}
	return h.Images.Within(ctx, w, func(ctx context.Context, id string) error {
		execer, ok := h.Engine.(container.Execer)
		if !ok {
			return fmt.Errorf("work in a container: %w", container.ErrUnsupported)
		}
		return use(ctx, workbench.EngineRoom{Engine: execer, ID: id, Workdir: t.Workdir})
	})
}

// maxPrinted bounds how much is read of what a judge command printed.
const maxPrinted = 1 << 20

// printed is mining.Options.Printed.
func (r *Reconciler) printed(_ context.Context, report round.Report) (string, error) {
	if report.Output == "" {
		return "", nil
	}
	out, err := r.o.Host.OpenBlob(report.Output)
	if err != nil {
		return "", err
	}
	defer func() { _ = out.Close() }() // only read
	text, err := io.ReadAll(io.LimitReader(out, maxPrinted))
	return string(text), err
}
