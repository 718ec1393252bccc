package reconcile

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/assayd/assayd/reconcile/history"
	"github.com/assayd/assayd/reconcile/retention"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/fault"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/pause"
	"github.com/assayd/assayd/runtime/trial"
	"github.com/assayd/assayd/runtime/trial/trydir"
)

// restore takes up what a former daemon left in the store: the judge gets its sessions
// and unjudged rounds back before any trial goes on.
func (r *Reconciler) restore(ctx context.Context) error {
	subs, err := r.o.Ledger.Unjudged(ctx)
	if err != nil {
		return err
	}
	open, err := history.OpenTrials(ctx, r.o.Store)
	if err != nil {
		return err
	}
	sessions := map[string]int{} // try by trial
	for _, s := range open {
		if s.JudgeImage.ID != "" && (s.Token != "" || s.Phase == trial.Sane) {
			r.o.Host.Judge.Open(trial.Session(r.o.Host.Owner, s))
			sessions[s.ID] = s.Try
		}
		if s.Container != "" { // before anything else is admitted
			need, err := r.needOf(ctx, s)
			if err != nil {
				return err
			}
			r.waitlist.Reserve(s.ID, need)
		}
	}
	var resumable []round.Submission
	for _, s := range subs {
		if sessions[s.Trial] == s.Try {
			resumable = append(resumable, s)
			continue
		}
		if err := r.o.Host.Judge.Abandon(ctx, s.Trial, s.Try, "no daemon ran"); err != nil {
			return err
		}
	}
	err = r.o.Host.Judge.Resume(ctx, resumable)
	fault.Reached(fault.RoundsRestored)
	return err
}

// orphans prepares the sweep: it has runs looked at that are open in the store and that no
// file declares, and returns the containers that stay because their trials are open.
func (r *Reconciler) orphans(ctx context.Context) (keep map[string]bool, err error) {
	open, err := history.OpenTrials(ctx, r.o.Store)
	if err != nil {
		return nil, err
	}
	keep = map[string]bool{}
	for _, s := range open {
		keep[s.Workload.Name] = true
	}
	err = r.o.Store.View(ctx, func(tx *store.Tx) error {
		executions, err := tx.OpenExecutions()
		if err != nil {
			return err
		}
		for _, e := range executions {
			if r.desired[e.Spec] == nil {
				r.miss(e.Spec, r.now())
			}
		}
		return nil
	})
	return keep, err
}

// sweepGrace is how old a stray container must be; a younger one may be on its way into
// the store.
const sweepGrace = 10 * time.Second

// sweepAgain is when it is looked once more, after the start: an engine that a former daemon
// had asked for a container may make it when that daemon is long dead.
const sweepAgain = 2 * time.Minute

// sweep removes the containers that a former daemon left and no open trial has: interrupted
// builds and judgings at once, others after a grace.
func (r *Reconciler) sweep(ctx context.Context, keep map[string]bool, begun time.Time) {
	for _, after := range []time.Duration{0, sweepGrace, sweepAgain} {
		if !r.sleep(ctx, begun.Add(after)) {
			return
		}
		r.sweepAll(ctx, keep, begun)
	}
}

// sleep waits for a moment and reports whether it came before the end of the context.
func (r *Reconciler) sleep(ctx context.Context, until time.Time) bool {
	timer := time.NewTimer(r.line.Until(until))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}

// sweepAll sweeps what is there now. It waits for the engine as long as it has to.
func (r *Reconciler) sweepAll(ctx context.Context, keep map[string]bool, begun time.Time) {
	var again pause.Growing
	for ctx.Err() == nil {
		found, err := r.o.Host.Engine.Observe(ctx, r.o.Host.Owner)
		if err != nil && ctx.Err() != nil {
			return
		}
		if err != nil {
			r.o.Log.Log(ctx, r.troubles.level("the sweep", err, slog.LevelWarn), "look for containers that were left over", "error", err)
			again.Wait(ctx)
			continue
		}
		r.troubles.over(withEngine)
		r.troubles.over("the sweep")
		for _, c := range found {
			if err := r.sweepOne(ctx, c, keep, begun); err != nil && ctx.Err() == nil {
				r.o.Log.Log(ctx, r.troubles.level(c.Name, err, slog.LevelWarn), "remove a container that was left over", "container", c.Name, "error", err)
			}
		}
		return
	}
}

func (r *Reconciler) sweepOne(ctx context.Context, c container.Instance, keep map[string]bool, begun time.Time) error {
	if keep[c.Name] || c.Labels[container.LabelDaemon] == r.o.Daemon {
		return nil
	}
	if kept, err := r.kept(ctx, c); kept || err != nil {
		r.Retention.Changed()
		return err
	}
	if c.Labels[container.LabelRole] == container.RoleWork && !r.sleep(ctx, begun.Add(sweepGrace)) {
		return nil
	}
	r.o.Log.Info("removing a container that was left over", "container", c.Name, "role", c.Labels[container.LabelRole])
	if err := r.o.Host.Engine.Remove(ctx, c.ID); err != nil {
		return fmt.Errorf("remove container %s: %w", c.Name, err)
	}
	fault.Reached(fault.StraySwept)
	return nil
}

// kept reports whether a run asked for the container to stay after its trial. One that still
// runs was entered by somebody who did not get to stop it: that is done now.
func (r *Reconciler) kept(ctx context.Context, c container.Instance) (bool, error) {
	var k retention.Kept
	err := r.o.Store.View(ctx, func(tx *store.Tx) (err error) {
		k, err = retention.KeptOf(tx, c)
		return err
	})
	switch {
	case err != nil:
		return false, err
	case k.Trial.ID == "" || !k.Trial.MayKeep():
		return false, nil
	case c.Phase == container.PhaseExited:
		return true, nil
	case k.Trial.Phase != trial.Done:
		return false, nil
	}
	leave, err := k.Enter(r.o.Host.StateDir)
	if errors.Is(err, trydir.ErrEntered) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	defer leave()
	return true, r.o.Host.Engine.Stop(ctx, c.ID, 0)
}
