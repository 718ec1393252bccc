package trial

import (
	"context"
	"errors"
	"fmt"

	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/fault"
)

// MayKeep reports whether containers of the trial may stay after its end.
func (s State) MayKeep() bool { return s.Keep == "always" || s.Keep == "failed" }

// Keeps reports whether the containers of the ended trial stay for a look.
func (s State) Keeps() bool {
	failed := s.Result == nil || s.Result.Status != Resolved
	return s.Keep == "always" || s.Keep == "failed" && failed
}

// retain stops the container and leaves it so that it can be started again: with what it has
// mounted, and with a guest that starts no agent then and asks no daemon.
func (m *Machine) retain(ctx context.Context, s State) error {
	if err := m.host.Engine.Stop(ctx, s.Workload.Name, 0); err != nil {
		return err
	}
	fault.Reached(fault.ContainerRemoved)
	_, err := m.host.Engine.Inspect(ctx, s.Workload.Name)
	switch {
	case errors.Is(err, container.ErrNotFound): // it was never made, or is gone
		return m.host.dir(s).Remove()
	case err != nil:
		return err
	}
	if err := m.host.dir(s).Quiet(); err != nil {
		return fmt.Errorf("leave the folder of trial %s for a look: %w", s.ID, err)
	}
	return nil
}
