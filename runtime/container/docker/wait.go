package docker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"github.com/assayd/assayd/runtime/clock"
	contract "github.com/assayd/assayd/runtime/container"
)

const (
	// rearm bounds one wait at the engine. A lost answer, or a container that ran and
	// exited between being looked at and being waited for, costs no more than this.
	rearm = 30 * time.Second
	// Between two failed attempts to reach the engine.
	minBackoff, maxBackoff = 100 * time.Millisecond, 5 * time.Second
)

// growing are pauses that double from the first to the longest.
func growing(first, longest time.Duration) *backoff.ExponentialBackOff {
	pauses := &backoff.ExponentialBackOff{InitialInterval: first, Multiplier: 2, MaxInterval: longest}
	pauses.Reset()
	return pauses
}

// Wait implements container.Engine. Only what an inspection shows counts; an answer of
// the engine's own wait, or its breaking off, only says that it is time to look again.
func (e *Engine) Wait(ctx context.Context, id string) (contract.Exit, error) {
	pauses, away := growing(minBackoff, maxBackoff), false
	for {
		c, err := e.inspect(ctx, id, false)
		if err == nil && away {
			away = false
			if err := e.findForgotten(ctx, c.ID); err != nil && ctx.Err() == nil {
				e.log.Info("looked whether Docker has forgotten that it froze a container", "container", id, "error", err)
			}
			continue // what became of it shows an inspection
		}
		pause := pauses.NextBackOff()
		switch {
		case contract.Unavailable(err) && ctx.Err() == nil:
			away = true
			e.log.Info("cannot ask Docker about a container, trying again", "container", id, "in", pause, "error", err)
		case err != nil:
			return contract.Exit{}, fmt.Errorf("wait: %w", err)
		case c.State.Dead:
			return contract.Exit{}, fmt.Errorf("wait for container %q: %w: it was removed, though not wholly", id, contract.ErrNotFound)
		case removing(c):
		case phase(c.State) == contract.PhaseExited:
			return exit(c.State), nil
		default:
			if e.doze(ctx, c) == nil {
				pauses.Reset()
				continue
			}
			away = true // it may have been started again since, before anybody asked it anything
		}
		if err := clock.Sleep(ctx, pause); err != nil {
			return contract.Exit{}, fmt.Errorf("wait for container %q: %w", id, err)
		}
	}
}

// doze sleeps until the container has probably changed. An error says that it was cut
// short.
func (e *Engine) doze(ctx context.Context, c container.InspectResponse) error {
	condition := container.WaitConditionNotRunning
	if phase(c.State) == contract.PhaseCreated {
		// Not running is true of it already; its first exit is what is waited for.
		condition = container.WaitConditionNextExit
	}
	bounded, cancel := context.WithTimeout(ctx, rearm)
	defer cancel()
	wait := e.streams.ContainerWait(bounded, c.ID, client.ContainerWaitOptions{Condition: condition})
	// Exactly one of the two comes, at the latest when the context ends; leaving without
	// taking it would leave the client's goroutine behind.
	select {
	case <-wait.Result:
		return nil
	case err := <-wait.Error:
		if errors.Is(bounded.Err(), context.DeadlineExceeded) && ctx.Err() == nil {
			return nil
		}
		return err
	}
}
