package reconcile

import (
	"context"
	"errors"
	"log/slog"
	"reflect"
	"time"

	"github.com/assayd/assayd/reconcile/admission"
	"github.com/assayd/assayd/reconcile/control"
	"github.com/assayd/assayd/reconcile/plan"
	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/fault"
	"github.com/assayd/assayd/runtime/pause"
	"github.com/assayd/assayd/runtime/task"
	"github.com/assayd/assayd/runtime/trial"
)

// liveTrial is a trial that a goroutine drives.
type liveTrial struct {
	machine   *trial.Machine
	need      admission.Need
	spec      string
	slot      plan.Slot
	cancelled bool
}

// tell has the trial do what a user asks of it.
func (l *liveTrial) tell(o control.Order) {
	switch o.Action {
	case control.Stop:
		l.machine.Stop(o.String())
	case control.Extend:
		l.machine.Extend(trial.Extend{Until: o.Until, Why: o.String()})
	default:
		l.cancelled = true
		l.machine.Cancel(trial.Cancellation{Cause: o.String()})
	}
}

// drive starts the goroutine of a trial. It ends when the trial is done, and tells the
// loop, or when the loop ends.
func (r *Reconciler) drive(s trial.State, need admission.Need) *liveTrial {
	ctx := r.life
	host := r.o.Host
	host.Log = r.traced(host.Log, s)
	l := &liveTrial{machine: trial.New(host, s.ID, s.Spec), need: need, spec: s.Spec, slot: plan.SlotOf(s.Cell)}
	r.live[s.ID] = l
	if o, is := r.Orders.Of(s.ID, s.Try); is {
		l.tell(o)
	}
	r.waitlist.Count(s.Spec, 1)
	r.cells.Touch(s.Spec, s.ID)
	r.drivers.Go(func() {
		defer l.machine.Close()
		r.steps(ctx, l.machine, s)
		select {
		case r.ended <- s.ID:
		case <-ctx.Done():
		}
	})
	return l
}

// traced is a log that names the trace of a try, where there are traces.
func (r *Reconciler) traced(log *slog.Logger, s trial.State) *slog.Logger {
	if r.o.TraceID == nil {
		return log
	}
	return log.With("trace_id", r.o.TraceID(s.ID, s.Try))
}

// steps makes transitions until the trial is done, one transaction each.
func (r *Reconciler) steps(ctx context.Context, m *trial.Machine, s trial.State) {
	log := r.traced(r.o.Log.With("spec", s.Spec, "trial", s.ID), s)
	again, away := pause.Growing{}, false
	if s.MayKeep() {
		r.Retention.Changed() // what an earlier try left goes now
		defer r.Retention.Changed()
	}
	defer r.troubles.over(s.ID)
	entered := time.Now()
	for s.Phase != trial.Done && ctx.Err() == nil {
		next, effects, err := m.Step(ctx, s)
		if err != nil {
			if ctx.Err() == nil {
				log.Log(ctx, r.troubles.level(s.ID, err, slog.LevelWarn), "trial step", "stage", s.Phase, "error", err)
				away = away || errors.Is(err, container.ErrUnavailable)
				again.Wait(ctx)
			}
			continue
		}
		if r.troubles.over(s.ID); away {
			r.troubles.over(withEngine)
			away = false
		}
		if len(effects) == 0 && reflect.DeepEqual(s, next) {
			continue
		}
		for err := r.commit(ctx, next, effects); err != nil; err = r.commit(ctx, next, effects) {
			if ctx.Err() != nil {
				return // the step is repeated by the next daemon
			}
			log.Log(ctx, r.troubles.level(withStore, err, slog.LevelError), "store trial", "stage", next.Phase, "error", err)
			again.Wait(ctx)
		}
		r.troubles.over(withStore)
		fault.Reached(fault.StateWritten)
		tell(log, s, next)
		if next.Phase != s.Phase {
			r.o.Staged(s.Phase, time.Since(entered))
			entered = time.Now()
		}
		s = next
		again.Reset()
	}
}

// tell logs what a person would want to know of a transition.
func tell(log *slog.Logger, before, after trial.State) {
	switch {
	case after.Failure != "" && before.Failure == "":
		log.Info("trial failed", "status", after.Failure, "reason", after.Reason, "detail", after.Detail)
	case after.Result != nil && before.Result == nil:
		log.Info("trial finished", "status", after.Result.Status, "reason", after.Result.Reason)
	case after.Phase != before.Phase:
		log.Info("trial", "stage", after.Phase)
	}
}

// forgetLive takes in that a trial's goroutine has ended.
func (r *Reconciler) forgetLive(id string) {
	l, ok := r.live[id]
	if !ok {
		return
	}
	delete(r.live, id)
	r.waitlist.Count(l.spec, -1)
	r.waitlist.Freed()
	r.cells.Touch(l.spec, id)
	r.o.Admission.ReleaseWork(l.need)
	r.queue.add(l.spec, r.now())
}

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
