package docker

import (
	"context"
	"errors"
	"fmt"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"
)

// errNoCPUs: Docker takes an empty set for "leave it as it is".
var errNoCPUs = errors.New("no CPUs are named")

// Pin implements container.Pinner.
func (e *Engine) Pin(ctx context.Context, id, cpuset string) error {
	err := checkName(id)
	if cpuset == "" {
		err = errNoCPUs
	}
	if err != nil {
		return fmt.Errorf("pin container %q: %w", id, err)
	}
	inst, err := e.Inspect(ctx, id) // Docker would take the beginning of an id for it
	if err != nil {
		return fmt.Errorf("pin: %w", err)
	}
	_, err = e.calls.ContainerUpdate(ctx, inst.ID, client.ContainerUpdateOptions{
		Resources: &container.Resources{CpusetCpus: cpuset},
	})
	return failure(ctx, err, "pin container %q to CPUs %q", id, cpuset)
}
