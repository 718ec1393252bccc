package docker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/moby/moby/client"

	"github.com/assayd/assayd/runtime/clock"
	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/fault"
)

// Start makes the workload run: see container.Engine. A start that ends in an error may
// have left a created container behind, which the next Start adopts, except when the
// workload itself cannot run: then what was created is removed again.
func (e *Engine) Start(ctx context.Context, w container.Workload) (container.Instance, error) {
	if !validName.MatchString(w.Name) {
		return container.Instance{}, fmt.Errorf("start container %q: that is no name Docker allows", w.Name)
	}
	// Between looking and creating others may create or remove the same name; each such
	// surprise means looking again.
	const attempts, patience = 50, 200 * time.Millisecond
	for range attempts {
		inst, err := e.tryStart(ctx, w)
		if !errors.Is(err, errLookAgain) {
			return inst, err
		}
		if err := clock.Sleep(ctx, patience); err != nil {
			return container.Instance{}, fmt.Errorf("start container %q: %w", w.Name, err)
		}
	}
	return container.Instance{}, fmt.Errorf("start container %q: %w: the name does not come free", w.Name, container.ErrConflict)
}

// errLookAgain says that the container changed between two calls.
var errLookAgain = errors.New("the container changed meanwhile")

func (e *Engine) tryStart(ctx context.Context, w container.Workload) (container.Instance, error) {
	c, err := e.inspect(ctx, w.Name, false)
	switch {
	case errors.Is(err, container.ErrNotFound):
		return e.create(ctx, w)
	case err != nil:
		return container.Instance{}, fmt.Errorf("start container %q: %w", w.Name, err)
	case c.State.Dead:
		// Half removed: nothing of its layer can be trusted, and it can never run again.
		if err := e.Remove(ctx, c.ID); err != nil {
			return container.Instance{}, fmt.Errorf("start container %q: %w", w.Name, err)
		}
		return container.Instance{}, errLookAgain
	case removing(c):
		return container.Instance{}, errLookAgain
	}
	inst := instance(c)
	if err := sameWorkload(w, inst); err != nil {
		return container.Instance{}, err
	}
	if inst.Phase == container.PhaseRunning {
		return inst, nil
	}
	return e.run(ctx, w, inst.ID)
}

// sameWorkload says whether a container of the workload's name is the workload.
func sameWorkload(w container.Workload, inst container.Instance) error {
	if have, want := inst.Labels[container.LabelOwner], w.Labels[container.LabelOwner]; have != want {
		return fmt.Errorf("start container %q: %w: a container of that name belongs to owner %q, not %q",
			w.Name, container.ErrConflict, have, want)
	}
	if have, want := inst.Labels[container.LabelHash], w.Hash(); have != want {
		return fmt.Errorf("start container %q: %w: a container of that name has workload %q, not %q",
			w.Name, container.ErrConflict, have, want)
	}
	return nil
}

// createTime bounds the making of a container, which a caller's end does not interrupt.
const createTime = 2 * time.Minute

// create makes the container and starts it.
func (e *Engine) create(ctx context.Context, w container.Workload) (container.Instance, error) {
	options, err := e.creation(ctx, w)
	if err != nil {
		return container.Instance{}, err
	}
	if ctx.Err() != nil {
		return container.Instance{}, context.Cause(ctx)
	}
	// Broken off in the middle, it might make the container after its caller has removed it.
	whole, cancel := context.WithTimeout(context.WithoutCancel(ctx), createTime)
	defer cancel()
	made, err := e.calls.ContainerCreate(whole, options)
	switch err = failure(ctx, err, "create container %q from image %q", w.Name, w.Image); {
	case errors.Is(err, container.ErrConflict):
		return container.Instance{}, errLookAgain
	case err != nil:
		return container.Instance{}, err
	}
	fault.Reached(fault.ContainerCreated)
	for _, warning := range made.Warnings {
		e.log.Debug("Docker warns about a new container", "container", w.Name, "warning", warning)
	}
	inst, err := e.run(ctx, w, made.ID)
	if err == nil || ctx.Err() != nil || container.Unavailable(err) || errors.Is(err, errLookAgain) {
		return inst, err
	}
	// What could not be started is in nobody's way only if it is gone.
	if removal := e.Remove(ctx, made.ID); removal != nil {
		err = errors.Join(err, removal)
	}
	return container.Instance{}, err
}

// Restart implements container.Restarter.
func (e *Engine) Restart(ctx context.Context, id string) (container.Instance, error) {
	inst, err := e.Inspect(ctx, id)
	if err != nil {
		return inst, fmt.Errorf("start again: %w", err)
	}
	if inst.Phase == container.PhaseRunning {
		return inst, nil
	}
	if _, err := e.calls.ContainerStart(ctx, inst.ID, client.ContainerStartOptions{}); err != nil {
		return container.Instance{}, failure(ctx, err, "start container %q again", id)
	}
	return e.Inspect(ctx, inst.ID)
}

// run starts a container that was made and answers what became of it.
func (e *Engine) run(ctx context.Context, w container.Workload, id string) (container.Instance, error) {
	_, err := e.calls.ContainerStart(ctx, id, client.ContainerStartOptions{})
	switch err = failure(ctx, err, "start container %q", w.Name); {
	case errors.Is(err, container.ErrNotFound), errors.Is(err, container.ErrConflict):
		return container.Instance{}, errLookAgain // removed, or being removed, meanwhile
	case err != nil:
		return container.Instance{}, err
	}
	inst, err := e.Inspect(ctx, id)
	if errors.Is(err, container.ErrNotFound) {
		return container.Instance{}, errLookAgain
	}
	return inst, err
}
