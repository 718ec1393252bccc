package reconcile

import (
	"context"

	"github.com/assayd/assayd/reconcile/plan"
	"github.com/assayd/assayd/runtime/task"
	"github.com/assayd/assayd/runtime/trial"
)

// goBeside is evaluate.Options.Go: f is one of the drivers, and ends with the loop. A driver calls: they are
// not waited for before this is counted.
func (r *Reconciler) goBeside(f func(ctx context.Context)) {
	ctx := r.life
	r.drivers.Go(func() { f(ctx) })
}

// solution is evaluate.Options.Solution.
func (r *Reconciler) solution(ctx context.Context, s trial.State) (solution *task.Solution, wanted bool, err error) {
	err = r.do(ctx, func() {
		if d := r.desired[s.Spec]; d != nil {
			solution, wanted = d.SolutionOf(s.Key, plan.SlotOf(s.Cell))
		}
	})
	return solution, wanted, err
}
