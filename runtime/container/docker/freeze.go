package docker

import (
	"context"
	"fmt"
	"strings"

	"github.com/moby/moby/client"

	"github.com/assayd/assayd/runtime/clock"
	"github.com/assayd/assayd/runtime/container"
)

// Freeze implements container.Freezer. A container that does not run is ErrConflict.
func (e *Engine) Freeze(ctx context.Context, id string) error {
	return e.setFrozen(ctx, "freeze", id, true, func(id string) error {
		leave, err := e.gates.freezing(ctx, id)
		if err != nil {
			return err
		}
		defer leave()
		return e.freeze(ctx, id)
	})
}

// freeze asks again when the kernel could not stop all processes at once: on control groups v1
// a container that starts many has to be caught between two of them.
func (e *Engine) freeze(ctx context.Context, id string) error {
	const attempts = 10
	for attempt, wait := 1, minPoll; ; attempt, wait = attempt+1, min(2*wait, maxPoll) {
		_, err := e.calls.ContainerPause(ctx, id, client.ContainerPauseOptions{})
		if err == nil || attempt == attempts || !strings.Contains(err.Error(), "unable to freeze") {
			return err
		}
		e.log.Debug("Docker is unable to freeze a container, trying again", "container", id, "in", wait, "error", err)
		if err := clock.Sleep(ctx, wait); err != nil {
			return err
		}
	}
}

// Thaw implements container.Freezer. A container that does not run is ErrConflict.
func (e *Engine) Thaw(ctx context.Context, id string) error {
	return e.setFrozen(ctx, "thaw", id, false, func(id string) error {
		_, err := e.calls.ContainerUnpause(ctx, id, client.ContainerUnpauseOptions{})
		return err
	})
}

// setFrozen looks, acts if something is to be done, and after an error looks again:
// somebody else may have done the same meanwhile.
func (e *Engine) setFrozen(ctx context.Context, verb, id string, frozen bool, act func(id string) error) error {
	inst, err := e.Inspect(ctx, id)
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", verb, err)
	case inst.Phase != container.PhaseRunning:
		return fmt.Errorf("%s container %q: %w: it is not running", verb, id, container.ErrConflict)
	case inst.Frozen == frozen:
		return nil
	}
	err = failure(ctx, act(inst.ID), "%s container %q", verb, id)
	if err == nil {
		return nil
	}
	if now, look := e.Inspect(ctx, id); look == nil && now.Phase == container.PhaseRunning && now.Frozen == frozen {
		return nil
	}
	return err
}
