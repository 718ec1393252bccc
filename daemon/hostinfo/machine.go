package hostinfo

import (
	"bufio"
	"cmp"
	"context"
	"log/slog"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/daemon/engines"
	"github.com/assayd/assayd/reconcile/admission"
	"github.com/assayd/assayd/runtime/container"
)

// Of is what the engine's machine has, and the folder in which it keeps containers; while
// it cannot be asked, what this one has.
func Of(ctx context.Context, engine container.Host, log *slog.Logger) (has config.Host, dataRoot string) {
	asked, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	info, err := engine.HostInfo(asked)
	if err != nil {
		log.Warn("the container engine does not answer; work waits for it", "error", err)
		return config.Host{CPUs: float64(runtime.NumCPU()), Memory: localMemory()}, ""
	}
	return config.Host{CPUs: float64(info.CPUs), Memory: info.Memory, Disk: diskAt(info.DataRoot)}, info.DataRoot
}

// Machine is what the engine of the settings has, or nothing where it does not answer soon.
func Machine(ctx context.Context, settings *config.Settings) config.Host {
	asked, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	engine, err := engines.Default(asked, settings)
	if err != nil {
		return config.Host{}
	}
	defer func() { _ = engine.Close() }() // only asked
	if _, err := engine.HostInfo(asked); err != nil {
		return config.Host{}
	}
	has, _ := Of(asked, engine, slog.New(slog.DiscardHandler))
	return has
}

// diskAt is how many bytes are free where layers are written; 0 when that is not known, as
// with an engine on another machine.
func diskAt(dir string) int64 { return max(FreeAt(dir), 0) }

// FreeAt is how many bytes are free at a folder; -1 where it is none of this machine.
func FreeAt(dir string) int64 {
	var s syscall.Statfs_t
	if dir == "" || syscall.Statfs(dir, &s) != nil {
		return -1
	}
	return int64(s.Bavail * uint64(s.Bsize)) //nolint:gosec // no file system has 2^63 bytes
}

// NearlyFull reports whether a file system has less than a twentieth and less than a GiB
// left.
func NearlyFull(dir string) bool {
	var s syscall.Statfs_t
	return syscall.Statfs(dir, &s) == nil && s.Bavail < s.Blocks/20 && diskAt(dir) < 1<<30
}

// localMemory is the machine's memory in bytes, 0 when that is not known.
func localMemory() int64 {
	f, err := os.Open("/proc/meminfo")
	if err != nil {
		return 0
	}
	defer func() { _ = f.Close() }()
	for s := bufio.NewScanner(f); s.Scan(); {
		fields := strings.Fields(s.Text())
		if len(fields) == 3 && fields[0] == "MemTotal:" {
			kib, err := strconv.ParseInt(fields[1], 10, 64)
			if err == nil {
				return kib << 10
			}
		}
	}
	return 0
}

// LimitsOf applies the settings over what the machine has, less a reserve of a tenth of
// the memory and of the free disk for the machine itself.
func LimitsOf(s config.Limits, machine config.Host) admission.Limits {
	return admission.Limits{
		CPUs:       cmp.Or(s.CPUs, machine.CPUs),
		Memory:     cmp.Or(s.Memory, machine.Memory-machine.Memory/10),
		Disk:       cmp.Or(s.Disk, machine.Disk-machine.Disk/10),
		Containers: s.Containers,
		Judge:      s.Judge,
	}
}
