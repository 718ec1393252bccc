package retention

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/reconcile/troubles"
	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/fault"
	"github.com/assayd/assayd/runtime/pause"
	"github.com/assayd/assayd/runtime/trial"
	"github.com/assayd/assayd/runtime/trial/trydir"
)

// sweepGrace is how old a stray container must be; a younger one may be on its way into
// the store.
const sweepGrace = 10 * time.Second

// sweepAgain is when it is looked once more, after the start: an engine that a former daemon
// had asked for a container may make it when that daemon is long dead.
const sweepAgain = 2 * time.Minute

// SweepFormer removes the containers that a former daemon left and no open trial has: interrupted
// builds and judgings at once, others after a grace.
func (c *Collector) SweepFormer(ctx context.Context, keep map[string]bool, begun time.Time) {
	for _, after := range []time.Duration{0, sweepGrace, sweepAgain} {
		if !c.sleep(ctx, begun.Add(after)) {
			return
		}
		c.sweepAll(ctx, keep, begun)
	}
}

// sleep waits for a moment and reports whether it came before the end of the context.
func (c *Collector) sleep(ctx context.Context, until time.Time) bool {
	timer := time.NewTimer(c.o.Until(until))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}

// sweepAll sweeps what is there now. It waits for the engine as long as it has to.
func (c *Collector) sweepAll(ctx context.Context, keep map[string]bool, begun time.Time) {
	var again pause.Growing
	for ctx.Err() == nil {
		found, err := c.o.Host.Engine.Observe(ctx, c.o.Host.Owner)
		if err != nil && ctx.Err() != nil {
			return
		}
		if err != nil {
			c.o.Log.Log(ctx, c.o.Troubles.Level("the sweep", err, slog.LevelWarn), "look for containers that were left over", "error", err)
			again.Wait(ctx)
			continue
		}
		c.o.Troubles.Over(troubles.Engine)
		c.o.Troubles.Over("the sweep")
		for _, left := range found {
			if err := c.sweepOne(ctx, left, keep, begun); err != nil && ctx.Err() == nil {
				c.o.Log.Log(ctx, c.o.Troubles.Level(left.Name, err, slog.LevelWarn), "remove a container that was left over", "container", left.Name, "error", err)
			}
		}
		return
	}
}

func (c *Collector) sweepOne(ctx context.Context, left container.Instance, keep map[string]bool, begun time.Time) error {
	if keep[left.Name] || left.Labels[container.LabelDaemon] == c.o.Daemon {
		return nil
	}
	if kept, err := c.stays(ctx, left); kept || err != nil {
		c.Changed()
		return err
	}
	if left.Labels[container.LabelRole] == container.RoleWork && !c.sleep(ctx, begun.Add(sweepGrace)) {
		return nil
	}
	c.o.Log.Info("removing a container that was left over", "container", left.Name, "role", left.Labels[container.LabelRole])
	if err := c.o.Host.Engine.Remove(ctx, left.ID); err != nil {
		return fmt.Errorf("remove container %s: %w", left.Name, err)
	}
	fault.Reached(fault.StraySwept)
	return nil
}

// stays reports whether a run asked for the container to stay after its trial. One that still
// runs was entered by somebody who did not get to stop it: that is done now.
func (c *Collector) stays(ctx context.Context, left container.Instance) (bool, error) {
	var k Kept
	err := c.o.Store.View(ctx, func(tx *store.Tx) (err error) {
		k, err = KeptOf(tx, left)
		return err
	})
	switch {
	case err != nil:
		return false, err
	case k.Trial.ID == "" || !k.Trial.MayKeep():
		return false, nil
	case left.Phase == container.PhaseExited:
		return true, nil
	case k.Trial.Phase != trial.Done:
		return false, nil
	}
	leave, err := k.Enter(c.o.Host.StateDir)
	if errors.Is(err, trydir.ErrEntered) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	defer leave()
	return true, c.o.Host.Engine.Stop(ctx, left.ID, 0)
}
