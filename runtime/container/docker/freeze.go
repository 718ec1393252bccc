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
	full, err := e.fullID(ctx, id)
	if err != nil {
		return fmt.Errorf("freeze: %w", err)
	}
	leave, err := e.gates.freezing(ctx, full)
	if err != nil {
		return fmt.Errorf("freeze container %q: %w", id, err)
	}
	defer leave()
	return e.setFrozen(ctx, "freeze", full, true, func(id string) error { return e.pause(ctx, id) })
}

// pause asks again when the kernel could not stop all processes at once: on control groups v1
// a container that starts many has to be caught between two of them.
func (e *Engine) pause(ctx context.Context, id string) error {
	const attempts = 10
	pauses := growing(minPoll, maxPoll)
	for attempt := 1; ; attempt++ {
		_, err := e.calls.ContainerPause(ctx, id, client.ContainerPauseOptions{})
		switch {
		case err == nil:
			return nil
		case strings.Contains(err.Error(), "cannot pause a paused container"):
			return e.killForgotten(ctx, id)
		case attempt == attempts || !strings.Contains(err.Error(), "unable to freeze"):
			return err
		}
		wait := pauses.NextBackOff()
		e.log.Debug("Docker is unable to freeze a container, trying again", "container", id, "in", wait, "error", err)
		if err := clock.Sleep(ctx, wait); err != nil {
			return err
		}
	}
}

// killForgotten kills a container that is frozen and that Docker takes for one that runs. Docker becomes
// that wrong when it is killed while it freezes: the container is frozen after that, and what
// Docker wrote down is not. It then refuses to freeze it and to thaw it, for good. A container
// that is killed can be started again from its layer.
func (e *Engine) killForgotten(ctx context.Context, id string) error {
	e.log.Warn("Docker has forgotten that it froze a container, and cannot thaw it: it is killed, to be started again", "container", id)
	if _, err := e.calls.ContainerKill(ctx, id, client.ContainerKillOptions{Signal: "SIGKILL"}); err != nil {
		return fmt.Errorf("kill a container that cannot be thawed: %w", err)
	}
	return fmt.Errorf("%w: the engine could not thaw it, and it was killed", container.ErrConflict)
}

// Thaw implements container.Freezer. A container that does not run is ErrConflict.
func (e *Engine) Thaw(ctx context.Context, id string) error {
	return e.setFrozen(ctx, "thaw", id, false, func(id string) error {
		_, err := e.calls.ContainerUnpause(ctx, id, client.ContainerUnpauseOptions{})
		return err
	})
}

// findForgotten finds out, after Docker was away, whether it has forgotten that it froze a
// container, and kills that. The others are frozen for a moment: nothing else makes Docker ask
// the kernel. They go on even if the context ends in that moment. Who freezes a container at the
// same time waits for this, and then looks.
func (e *Engine) findForgotten(ctx context.Context, id string) error {
	leave, err := e.gates.freezing(ctx, id)
	if err != nil {
		return err
	}
	defer leave()
	inst, err := e.Inspect(ctx, id)
	if err != nil || inst.Phase != container.PhaseRunning || inst.Frozen {
		return err
	}
	begun := context.WithoutCancel(ctx) // each call is bounded
	err = failure(begun, e.pause(begun, id), "freeze container %q for a moment", id)
	for err == nil || container.Unavailable(err) { // it may be frozen
		if err = e.Thaw(begun, id); !container.Unavailable(err) {
			return err
		}
		if err := clock.Sleep(ctx, maxBackoff); err != nil {
			return err
		}
	}
	return err
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
