package docker

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"
	"golang.org/x/sync/errgroup"

	contract "github.com/assayd/assayd/runtime/container"
)

// Observe implements container.Engine. The list of the engine has neither exit codes nor
// times, so each container is inspected as well.
func (e *Engine) Observe(ctx context.Context, owner string) ([]contract.Instance, error) {
	list, err := e.calls.ContainerList(ctx, client.ContainerListOptions{
		All:     true,
		Filters: client.Filters{}.Add("label", contract.LabelOwner+"="+owner),
	})
	if err != nil {
		return nil, failure(ctx, err, "list containers of owner %q", owner)
	}
	found := make([]contract.Instance, len(list.Items))
	group, inside := errgroup.WithContext(ctx)
	group.SetLimit(4)
	for i, item := range list.Items {
		group.Go(func() error {
			inst, err := e.Inspect(inside, item.ID)
			if errors.Is(err, contract.ErrNotFound) {
				return nil // removed since the list was made
			}
			found[i] = inst
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, fmt.Errorf("list containers of owner %q: %w", owner, err)
	}
	return compact(found), nil
}

// compact leaves out instances without an id.
func compact(all []contract.Instance) []contract.Instance {
	kept := all[:0]
	for _, inst := range all {
		if inst.ID != "" {
			kept = append(kept, inst)
		}
	}
	return kept
}

// Inspect implements container.Engine. The beginning of an id is not an id.
func (e *Engine) Inspect(ctx context.Context, id string) (contract.Instance, error) {
	c, err := e.inspect(ctx, id, false)
	if err != nil {
		return contract.Instance{}, err
	}
	return instance(c), nil
}

func (e *Engine) inspect(ctx context.Context, id string, size bool) (container.InspectResponse, error) {
	if err := checkName(id); err != nil {
		return container.InspectResponse{}, fmt.Errorf("inspect container: %w", err)
	}
	answer, err := e.calls.ContainerInspect(ctx, id, client.ContainerInspectOptions{Size: size})
	if err != nil {
		return container.InspectResponse{}, failure(ctx, err, "inspect container %q", id)
	}
	c := answer.Container
	if c.ID != id && name(c) != id {
		return c, fmt.Errorf("inspect container %q: %w: only %q begins like that", id, contract.ErrNotFound, c.ID)
	}
	if c.State == nil || c.Config == nil {
		return c, fmt.Errorf("inspect container %q: the engine's answer has no state", id)
	}
	return c, nil
}

// fullID returns the id of a container by id or name.
func (e *Engine) fullID(ctx context.Context, id string) (string, error) {
	if validID.MatchString(id) {
		return id, nil
	}
	inst, err := e.Inspect(ctx, id)
	return inst.ID, err
}

func name(c container.InspectResponse) string { return strings.TrimPrefix(c.Name, "/") }

// removing says whether the engine is about to remove the container. Its state is then
// an effect of the removal, and never reported as an exit.
func removing(c container.InspectResponse) bool { return c.State.Status == container.StateRemoving }

// instance translates what the engine knows about one container.
func instance(c container.InspectResponse) contract.Instance {
	inst := contract.Instance{
		ID:         c.ID,
		Name:       name(c),
		Labels:     c.Config.Labels,
		Phase:      phase(c.State),
		Frozen:     c.State.Running && c.State.Paused,
		ImageID:    c.Image,
		CreatedAt:  instant(c.Created),
		StartedAt:  instant(c.State.StartedAt),
		FinishedAt: instant(c.State.FinishedAt),
	}
	if inst.Phase == contract.PhaseExited {
		inst.Exit = exit(c.State)
	}
	return inst
}

func phase(s *container.State) contract.Phase {
	switch {
	case s.Running || s.Restarting:
		return contract.PhaseRunning
	case instant(s.StartedAt).IsZero():
		return contract.PhaseCreated
	default:
		return contract.PhaseExited
	}
}

// exit reads the end of the first process. The engine's flag also tells of a child that
// ran out of memory, which is not what ended the container unless its code says killed.
func exit(s *container.State) contract.Exit {
	return contract.Exit{Code: s.ExitCode, OOM: s.OOMKilled && s.ExitCode == 137, FinishedAt: instant(s.FinishedAt)}
}

// instant reads a time; the engine's "never" and nonsense are the zero time.
func instant(s string) time.Time {
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil || t.Year() <= 1 {
		return time.Time{}
	}
	return t
}
