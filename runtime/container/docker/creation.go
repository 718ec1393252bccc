package docker

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"

	contract "github.com/assayd/assayd/runtime/container"
)

// creation is the workload in Docker's words.
func (e *Engine) creation(ctx context.Context, w contract.Workload) (client.ContainerCreateOptions, error) {
	if err := checkRef(w.Image); err != nil {
		return client.ContainerCreateOptions{}, fmt.Errorf("create container %q: %w", w.Name, err)
	}
	host, err := hostConfig(w)
	if err != nil {
		return client.ContainerCreateOptions{}, fmt.Errorf("create container %q: %w", w.Name, err)
	}
	if w.Limits.Disk > 0 {
		quota, err := e.hasQuota(ctx)
		if err != nil {
			return client.ContainerCreateOptions{}, fmt.Errorf("create container %q: %w", w.Name, err)
		}
		if quota {
			host.StorageOpt = map[string]string{"size": strconv.FormatInt(w.Limits.Disk, 10)}
		}
	}
	own, err := e.etc(w.Network)
	if err != nil {
		return client.ContainerCreateOptions{}, fmt.Errorf("create container %q: %w", w.Name, err)
	}
	host.Mounts = append(own, host.Mounts...)
	made := config(w)
	if e.daemon != "" {
		made.Labels[contract.LabelDaemon] = e.daemon
	}
	return client.ContainerCreateOptions{Name: w.Name, Config: made, HostConfig: host}, nil
}

func config(w contract.Workload) *container.Config {
	labels := maps.Clone(w.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	labels[contract.LabelHash] = w.Hash()
	return &container.Config{
		Hostname:   hostname,
		Image:      w.Image,
		Entrypoint: w.Argv, // all of it, so that nothing of the image's command is appended
		Env:        assignments(w.Env),
		User:       w.User,
		WorkingDir: w.Workdir,
		Labels:     labels,
		StopSignal: "SIGTERM", // whatever the image prefers: the contract says so
		// An image's health check would spend the trial's own CPU.
		Healthcheck: &container.HealthConfig{Test: []string{"NONE"}},
	}
}

func hostConfig(w contract.Workload) (*container.HostConfig, error) {
	noInit := false
	host := &container.HostConfig{
		Init:        &noInit, // the workload's first process is the first process
		SecurityOpt: []string{"no-new-privileges"},
		CapDrop:     []string{"ALL"},
		CapAdd:      contract.Capabilities,
		// Nobody reads the engine's log: what is worth keeping the processes write
		// themselves. Without one there is nothing to fill a disk or to block on.
		LogConfig: container.LogConfig{Type: "none"},
		Resources: container.Resources{
			NanoCPUs:   int64(w.Limits.CPUs * 1e9),
			Memory:     w.Limits.Memory,
			MemorySwap: w.Limits.Memory, // memory and swap together: no swap
			CpusetCpus: w.Limits.CPUSet,
		},
	}
	if w.Limits.PIDs > 0 {
		host.PidsLimit = &w.Limits.PIDs
	}
	switch w.Network {
	case contract.NetworkNone, "":
		host.NetworkMode = network.NetworkNone
	case contract.NetworkOpen:
		host.NetworkMode = network.NetworkDefault
	default:
		return nil, fmt.Errorf("network %q: %w", w.Network, contract.ErrUnsupported)
	}
	for _, m := range w.Mounts {
		host.Mounts = append(host.Mounts, mount.Mount{
			Type: mount.TypeBind, Source: m.Source, Target: m.Target, ReadOnly: m.ReadOnly,
		})
	}
	return host, nil
}

// assignments writes an environment as sorted KEY=value.
func assignments(env map[string]string) []string {
	var all []string
	for _, key := range slices.Sorted(maps.Keys(env)) {
		all = append(all, key+"="+env[key])
	}
	return all
}
