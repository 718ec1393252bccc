package evaluate

import (
	"context"
	"fmt"
	"io"

	"github.com/assayd/assayd/reconcile/admission"
	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/mining/workbench"
	"github.com/assayd/assayd/runtime/task"
)

// Room is mining.Options.Room: a container of a task's work image with network and without any
// credential.
func (r *Evaluator) Room(ctx context.Context, t task.Task, use func(ctx context.Context, room workbench.Room) error) error {
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

// Printed is mining.Options.Printed.
func (r *Evaluator) Printed(_ context.Context, report round.Report) (string, error) {
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
