package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/daemon/api"
	"github.com/assayd/assayd/daemon/engines"
	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/trial/trydir"
)

// check is one line of the doctor.
type check struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"`
}

func (e *env) doctor() *cobra.Command {
	return &cobra.Command{
		Use: "doctor", Short: "Check that this machine can do the work", Args: nothing,
		RunE: func(cmd *cobra.Command, _ []string) error {
			settings, dir, err := e.place()
			if err != nil {
				return err
			}
			checks := []check{
				checkEngine(cmd.Context(), settings), checkState(dir), checkDisk(dir),
				checkDaemon(cmd.Context(), dir), checkGit(),
			}
			return e.report(checks)
		},
	}
}

func (e *env) report(checks []check) error {
	failed := false
	for _, c := range checks {
		failed = failed || !c.OK
	}
	if e.json {
		if err := e.printJSON(checks); err != nil {
			return err
		}
	} else {
		for _, c := range checks {
			mark := "ok  "
			if !c.OK {
				mark = "FAIL"
			}
			fmt.Fprintf(e.out, "%s  %-16s %s\n", mark, c.Name, c.Detail)
		}
	}
	if failed {
		return exit{ExitFailed}
	}
	return nil
}

// askEngine asks the container engine what it has.
func askEngine(ctx context.Context, settings *config.Settings) (info container.HostInfo, err error) {
	engine, err := engines.Default(ctx, settings)
	if err != nil {
		return info, err
	}
	defer func() { err = errors.Join(err, engine.Close()) }()
	return engine.HostInfo(ctx)
}

func checkEngine(ctx context.Context, settings *config.Settings) check {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	info, err := askEngine(ctx, settings)
	if err != nil {
		return check{engines.Used(settings), false, err.Error()}
	}
	quota := "disk use is watched, the storage driver has no quotas"
	if info.DiskQuota {
		quota = "disk quotas are enforced by the storage driver"
	}
	return check{engines.Used(settings), true, fmt.Sprintf("engine %s on %s: %d CPUs, %s of memory; %s",
		info.Version, info.Platform, info.CPUs, humanize.IBytes(uint64(max(info.Memory, 0))), quota)}
}

func checkState(dir string) check {
	if len(dir) > trydir.MaxStateDir {
		return check{"state directory", false, fmt.Sprintf("%s is too long by %d bytes for the sockets in it; name a shorter one with --state", dir, len(dir)-trydir.MaxStateDir)}
	}
	there := existing(dir)
	f, err := os.CreateTemp(there, ".doctor-")
	if err != nil {
		return check{"state directory", false, fmt.Sprintf("%s cannot be written: %v", dir, err)}
	}
	if err := errors.Join(f.Close(), os.Remove(f.Name())); err != nil {
		return check{"state directory", false, err.Error()}
	}
	if there != dir {
		return check{"state directory", true, dir + " can be made"}
	}
	return check{"state directory", true, dir + " can be written"}
}

// existing is the folder itself or the nearest one above it that is there.
func existing(dir string) string {
	for !exists(dir) && dir != filepath.Dir(dir) {
		dir = filepath.Dir(dir)
	}
	return dir
}

// littleDisk is when the doctor warns: images and archives need room.
const littleDisk = 5 << 30

func checkDisk(dir string) check {
	var s syscall.Statfs_t
	if err := syscall.Statfs(existing(dir), &s); err != nil {
		return check{"disk", false, err.Error()}
	}
	free := s.Bavail * uint64(max(s.Bsize, 0))
	return check{"disk", free > littleDisk, humanize.IBytes(free) + " free beside the state directory"}
}

func checkDaemon(ctx context.Context, dir string) check {
	c := api.NewClient(api.Socket(dir))
	defer c.Close()
	v, err := c.Version(ctx)
	if errors.Is(err, api.ErrNoDaemon) {
		return check{"daemon", true, "none runs on this state directory"}
	}
	if err != nil {
		return check{"daemon", false, err.Error()}
	}
	return check{"daemon", true, fmt.Sprintf("version %s runs as process %d", v.Version, v.PID)}
}

func checkGit() check {
	path, err := exec.LookPath("git")
	if err != nil {
		return check{"git", false, "not found; tasks with a repo block need it"}
	}
	return check{"git", true, path}
}
