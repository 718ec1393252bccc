package docker

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/moby/moby/client"

	"github.com/assayd/assayd/runtime/clock"
	"github.com/assayd/assayd/runtime/container"
)

// Stop implements container.Engine. Docker counts the grace in whole seconds; it is
// rounded up.
func (e *Engine) Stop(ctx context.Context, id string, grace time.Duration) error {
	inst, err := e.Inspect(ctx, id)
	switch {
	case errors.Is(err, container.ErrNotFound):
		return nil
	case err != nil:
		return fmt.Errorf("stop: %w", err)
	case inst.Phase != container.PhaseRunning:
		return nil
	case grace <= 0 || inst.Frozen:
		// Frozen processes cannot hear SIGTERM. After SIGKILL the engine thaws them, and
		// none runs an instruction any more.
		_, err = e.calls.ContainerKill(ctx, inst.ID, client.ContainerKillOptions{Signal: "SIGKILL"})
	default:
		seconds := int(math.Ceil(grace.Seconds()))
		_, err = e.streams.ContainerStop(ctx, inst.ID, client.ContainerStopOptions{Timeout: &seconds})
	}
	return e.confirmStopped(ctx, inst, failure(ctx, err, "stop container %q", id))
}

// confirmStopped looks whether that run of the container has come to its end. A kill
// returns before the process is reaped, an error may only mean that it ended by itself,
// and one that ended may have been started again since, by somebody else.
func (e *Engine) confirmStopped(ctx context.Context, stopped container.Instance, attempt error) error {
	if attempt != nil && (ctx.Err() != nil || container.Unavailable(attempt)) {
		return attempt
	}
	const looks, between = 200, 50 * time.Millisecond
	for range looks {
		inst, err := e.Inspect(ctx, stopped.ID)
		switch {
		case errors.Is(err, container.ErrNotFound):
			return nil
		case err != nil:
			return fmt.Errorf("stop: %w", err)
		case inst.Phase != container.PhaseRunning, inst.StartedAt.After(stopped.StartedAt):
			return nil
		case attempt != nil:
			return attempt
		}
		if err := clock.Sleep(ctx, between); err != nil {
			return fmt.Errorf("stop container %q: %w", stopped.ID, err)
		}
	}
	return fmt.Errorf("stop container %q: it still runs %s after SIGKILL", stopped.ID, looks*between)
}

// Remove implements container.Engine.
func (e *Engine) Remove(ctx context.Context, id string) error {
	if checkName(id) != nil {
		return nil
	}
	inst, err := e.Inspect(ctx, id)
	switch {
	case errors.Is(err, container.ErrNotFound):
		return nil
	case err != nil:
		return fmt.Errorf("remove: %w", err)
	}
	const attempts, between = 100, 100 * time.Millisecond
	for range attempts {
		_, err := e.calls.ContainerRemove(ctx, inst.ID, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
		switch err = failure(ctx, err, "remove container %q", id); {
		case err == nil, errors.Is(err, container.ErrNotFound):
			return nil
		case !errors.Is(err, container.ErrConflict):
			return err
		}
		// Somebody else is at it: success once it is gone, and our turn if they gave up.
		if err := clock.Sleep(ctx, between); err != nil {
			return fmt.Errorf("remove container %q: %w", id, err)
		}
	}
	return fmt.Errorf("remove container %q: %w: its removal does not come to an end", id, container.ErrConflict)
}
