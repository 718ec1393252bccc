package docker

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/system"
	"github.com/moby/moby/client"

	"github.com/assayd/assayd/runtime/clock"
	contract "github.com/assayd/assayd/runtime/container"
)

// HostInfo implements container.Host. BootID is known only of an engine on this machine.
func (e *Engine) HostInfo(ctx context.Context) (contract.HostInfo, error) {
	answer, err := e.calls.Info(ctx, client.InfoOptions{})
	if err != nil {
		return contract.HostInfo{}, failure(ctx, err, "ask Docker about its host")
	}
	info := answer.Info
	host := contract.HostInfo{
		CPUs:     info.NCPU,
		Memory:   info.MemTotal,
		Platform: info.OSType + "/" + architecture(info.Architecture),
		Version:  info.ServerVersion,
		DataRoot: info.DockerRootDir,
	}
	if here, err := os.Hostname(); e.local && err == nil && here == info.Name {
		host.BootID = clock.Boot()
		if mounts, err := os.Open("/proc/self/mountinfo"); err == nil {
			defer mounts.Close()
			host.DiskQuota = enforcesQuota(info, mounts)
		}
	}
	return host, nil
}

// architecture is Go's and the registries' name for what the kernel calls differently.
func architecture(machine string) string {
	switch machine {
	case "x86_64":
		return "amd64"
	case "aarch64":
		return "arm64"
	}
	return machine
}

// enforcesQuota says whether the storage driver can bound a container's layer: btrfs and
// zfs always, overlay2 only on xfs that is mounted with project quotas.
func enforcesQuota(info system.Info, mountinfo io.Reader) bool {
	switch info.Driver {
	case "btrfs", "zfs":
		return true
	case "overlay2":
		fs, options := mountOf(info.DockerRootDir, mountinfo)
		return fs == "xfs" && (strings.Contains(options, "prjquota") || strings.Contains(options, "pquota"))
	}
	return false
}

// mountOf finds the file system that holds dir, and its options, in the kernel's
// mountinfo.
func mountOf(dir string, mountinfo io.Reader) (fs, options string) {
	longest := -1
	for scan := bufio.NewScanner(mountinfo); scan.Scan(); {
		// 36 35 98:0 /root /mount/point rw,noatime master:1 - xfs /dev/sda1 rw,prjquota
		left, right, ok := strings.Cut(scan.Text(), " - ")
		place, kind := strings.Fields(left), strings.Fields(right)
		if !ok || len(place) < 5 || len(kind) < 3 {
			continue
		}
		rel, err := filepath.Rel(place[4], dir)
		if err != nil || rel == ".." || strings.HasPrefix(rel, "../") {
			continue
		}
		if len(place[4]) >= longest { // of two on one place the later hides the other
			longest, fs, options = len(place[4]), kind[0], kind[2]
		}
	}
	return fs, options
}

// hasQuota asks once whether disk limits can be enforced.
func (e *Engine) hasQuota(ctx context.Context) (bool, error) {
	e.quotaLock.Lock()
	defer e.quotaLock.Unlock()
	if e.quota == nil {
		host, err := e.HostInfo(ctx)
		if err != nil {
			return false, err
		}
		e.quota = &host.DiskQuota
	}
	return *e.quota, nil
}

// Usage implements container.Meter. Memory is without the file cache that the kernel
// gives back when it is needed. Of a container that does not run only the disk counts.
func (e *Engine) Usage(ctx context.Context, id string) (contract.Usage, error) {
	c, err := e.inspect(ctx, id, false)
	if err != nil {
		return contract.Usage{}, fmt.Errorf("usage: %w", err)
	}
	var u contract.Usage
	if u.DiskBytes, err = e.diskBytes(ctx, c); err != nil {
		return contract.Usage{}, fmt.Errorf("usage: %w", err)
	}
	if !c.State.Running {
		return u, nil
	}
	answer, err := e.calls.ContainerStats(ctx, c.ID, client.ContainerStatsOptions{})
	if err != nil {
		return contract.Usage{}, failure(ctx, err, "usage of container %q", id)
	}
	defer answer.Body.Close()
	var stats container.StatsResponse
	if err := json.NewDecoder(answer.Body).Decode(&stats); err != nil {
		return contract.Usage{}, failure(ctx, err, "usage of container %q", id)
	}
	u.MemoryBytes = workingSet(stats.MemoryStats)
	u.PIDs = int64(stats.PidsStats.Current)
	u.CPUSeconds = float64(stats.CPUStats.CPUUsage.TotalUsage) / 1e9
	return u, nil
}

// diskBytes measures the container's own layer with the volumes that its image asks for, or
// asks the engine, which tells of the layer alone, where we cannot look: on another machine, as
// another user than root, with another storage.
func (e *Engine) diskBytes(ctx context.Context, c container.InspectResponse) (int64, error) {
	if dir := upperDir(c); dir != "" {
		n, err := e.layerBytes(ctx, dir)
		for _, v := range volumeDirs(c) {
			if err != nil {
				break
			}
			var more int64
			more, err = e.layerBytes(ctx, v)
			n += min(more, math.MaxInt64-n)
		}
		if err == nil || ctx.Err() != nil {
			return n, err
		}
	}
	c, err := e.inspect(ctx, c.ID, true)
	if err != nil {
		return 0, err
	}
	if c.SizeRw == nil || *c.SizeRw < 0 {
		return 0, fmt.Errorf("the engine cannot tell the size of container %q", c.ID)
	}
	return *c.SizeRw, nil
}

// workingSet is the memory in use without inactive file cache, under either version of
// control groups.
func workingSet(m container.MemoryStats) int64 {
	cache, ok := m.Stats["total_inactive_file"]
	if !ok {
		cache = m.Stats["inactive_file"]
	}
	if cache > m.Usage {
		return int64(m.Usage)
	}
	return int64(m.Usage - cache)
}
