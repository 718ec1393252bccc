package drive

import (
	"context"
	"errors"
	"log/slog"
	"reflect"
	"time"

	"github.com/assayd/assayd/reconcile/admission"
	"github.com/assayd/assayd/reconcile/control"
	"github.com/assayd/assayd/reconcile/plan"
	"github.com/assayd/assayd/reconcile/troubles"
	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/fault"
	"github.com/assayd/assayd/runtime/pause"
	"github.com/assayd/assayd/runtime/trial"
)

// tell has the trial do what a user asks of it.
func (l *driven) tell(o control.Order) {
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
func (t *Trials) drive(s trial.State, need admission.Need) *driven {
	host := *t.o.Host
	host.Log = t.traced(host.Log, s)
	l := &driven{machine: trial.New(host, s.ID, s.Spec), need: need, spec: s.Spec, slot: plan.SlotOf(s.Cell)}
	t.live[s.ID] = l
	if o, is := t.Orders.Of(s.ID, s.Try); is {
		l.tell(o)
	}
	t.o.Waitlist.Count(s.Spec, 1)
	t.o.Touch(s.Spec, s.ID)
	t.o.Go(func(ctx context.Context) {
		defer l.machine.Close()
		t.steps(ctx, l.machine, s)
		select {
		case t.ended <- s.ID:
		case <-ctx.Done():
		}
	})
	return l
}

// traced is a log that names the trace of a try, where there are traces.
func (t *Trials) traced(log *slog.Logger, s trial.State) *slog.Logger {
	if t.o.TraceID == nil {
		return log
	}
	return log.With("trace_id", t.o.TraceID(s.ID, s.Try))
}

// steps makes transitions until the trial is done, one transaction each.
func (t *Trials) steps(ctx context.Context, m *trial.Machine, s trial.State) {
	log := t.traced(t.o.Log.With("spec", s.Spec, "trial", s.ID), s)
	again, away := pause.Growing{}, false
	if s.MayKeep() {
		t.o.Kept() // what an earlier try left goes now
		defer t.o.Kept()
	}
	defer t.o.Troubles.Over(s.ID)
	entered := time.Now()
	for s.Phase != trial.Done && ctx.Err() == nil {
		next, effects, err := m.Step(ctx, s)
		if err != nil {
			if ctx.Err() == nil {
				log.Log(ctx, t.o.Troubles.Level(s.ID, err, slog.LevelWarn), "trial step", "stage", s.Phase, "error", err)
				away = away || errors.Is(err, container.ErrUnavailable)
				again.Wait(ctx)
			}
			continue
		}
		if t.o.Troubles.Over(s.ID); away {
			t.o.Troubles.Over(troubles.Engine)
			away = false
		}
		if len(effects) == 0 && reflect.DeepEqual(s, next) {
			continue
		}
		for err := t.commit(ctx, next, effects); err != nil; err = t.commit(ctx, next, effects) {
			if ctx.Err() != nil {
				return // the step is repeated by the next daemon
			}
			log.Log(ctx, t.o.Troubles.Level(troubles.Store, err, slog.LevelError), "store trial", "stage", next.Phase, "error", err)
			again.Wait(ctx)
		}
		t.o.Troubles.Over(troubles.Store)
		fault.Reached(fault.StateWritten)
		tell(log, s, next)
		if next.Phase != s.Phase {
			t.o.Staged(s.Phase, time.Since(entered))
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
