package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strings"

	"github.com/assayd/assayd/runtime/container"
)

// machine is where the numbers come from.
type machine struct {
	CPU    string `json:"cpu"`
	Cores  int    `json:"cores"`
	Memory int64  `json:"memory"` // bytes
	Engine string `json:"engine"`
	Go     string `json:"go"`
	Load   string `json:"load"` // before the run: of 1, 5 and 15 minutes
}

func (m machine) String() string {
	return fmt.Sprintf("%s, %d cores, %d GB; Docker %s; %s; load before the run %s",
		m.CPU, m.Cores, (m.Memory+5e8)/1e9, m.Engine, m.Go, m.Load)
}

func machineOf(ctx context.Context, engine container.Host) (machine, error) {
	info, err := engine.HostInfo(ctx)
	if err != nil {
		return machine{}, fmt.Errorf("ask the container engine: %w", err)
	}
	cpus, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return machine{}, err
	}
	load, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return machine{}, err
	}
	return machine{
		CPU: cpuModel(string(cpus)), Cores: runtime.NumCPU(), Memory: info.Memory, Engine: info.Version,
		Go: runtime.Version(), Load: strings.Join(strings.Fields(string(load))[:3], " "),
	}, nil
}

// cpuModel reads the name of the first processor; not every architecture tells one.
func cpuModel(cpuinfo string) string {
	for line := range strings.Lines(cpuinfo) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}
