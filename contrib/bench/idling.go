package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/assayd/assayd/contrib/bench/client"
	"github.com/assayd/assayd/contrib/bench/result"
	"github.com/assayd/assayd/runtime/container/docker"
)

// idleFor is how long idle daemons are looked at: two looks at all spec files that need no
// event (every 30 s, give or take a tenth) and a check of all result files (every minute)
// are within it.
const idleFor = 64 * time.Second

// idling compares a daemon that has many specs and nothing to do with one that has two.
func idling(ctx context.Context, o options, engine *docker.Engine) (_ []result.Result, err error) {
	var daemons [2]*fixture
	var starts, rests [2]time.Duration
	var ready [2]use
	for i, specs := range []int{1, o.specs} {
		w, err := newFixture(ctx, o, engine)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, w.close(ctx)) }()
		if daemons[i], err = w, w.sleepers(specs); err != nil {
			return nil, err
		}
		begun := time.Now()
		if starts[i], err = w.serve(); err != nil {
			return nil, err
		}
		if ready[i], err = w.use(); err != nil {
			return nil, err
		}
		if err := w.atRest(ctx, specs); err != nil {
			return nil, err
		}
		rests[i] = time.Since(begun)
	}
	before, err := useOf(daemons)
	if err != nil {
		return nil, err
	}
	select {
	case <-time.After(idleFor):
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	after, err := useOf(daemons)
	if err != nil {
		return nil, err
	}
	one := func(x float64) []float64 { return []float64{x} }
	memory := result.Compare("MB", one(after[1].memory), one(after[0].memory))
	cpu := result.Compare("s", one(after[1].cpu-before[1].cpu), one(idleFor.Seconds()))
	cpu.Parts = map[string]float64{"with one spec": after[0].cpu - before[0].cpu}
	memory.Parts = map[string]float64{"when it was ready": ready[1].memory, "the most until then": ready[1].peak}
	start := result.Compare("ms", one(result.Milliseconds(starts[1])), one(result.Milliseconds(starts[0])))
	start.Parts = map[string]float64{
		"CPU": 1000 * ready[1].cpu, "until each file's status is beside it": result.Milliseconds(rests[1]),
	}
	again, err := startedAgain(daemons)
	if err != nil {
		return nil, err
	}
	restart := result.Compare("ms", one(result.Milliseconds(again[1])), one(result.Milliseconds(again[0])))
	specs := fmt.Sprintf("%d spec files", o.specs)
	return []result.Result{
		start.Called("start", "first start with "+specs+" → ready", "with one"),
		restart.Called("start_again", "kill -9, start with the same → ready", "with one"),
		memory.Called("idle_memory", "memory of an idle daemon with "+specs, "with one"),
		cpu.Called("idle_cpu", "CPU that it takes", "the time that passed, one core"),
	}, nil
}

// startedAgain kills the daemons and says how long each took until it was ready once more.
func startedAgain(daemons [2]*fixture) (took [2]time.Duration, err error) {
	for i, w := range daemons {
		if err := w.kill(); err != nil {
			return took, err
		}
		if took[i], err = w.serve(); err != nil {
			return took, err
		}
	}
	return took, nil
}

// sleepers writes spec files whose runs begin at a time that never comes in a bench: the
// next new year's first minute.
func (w *fixture) sleepers(n int) error {
	shared, _, _ := strings.Cut(w.benchmark(), `agent "sleeper"`)
	if _, err := w.drop("shared.hcl", shared); err != nil {
		return err
	}
	for i := range n {
		name := fmt.Sprintf("nightly%d", i)
		if _, err := w.drop(name+".hcl", w.nopRun(name, `schedule = "0 0 1 1 *"`)); err != nil {
			return err
		}
	}
	return nil
}

// atRest waits until the daemon has said of the last file that it was accepted: after its
// start it writes a status file for each.
func (w *fixture) atRest(ctx context.Context, specs int) error {
	return client.Until(ctx, "every file has its status", settle, func() (bool, error) {
		told, err := filepath.Glob(filepath.Join(w.specs, "nightly*.status.jsonl"))
		return len(told) == specs, err
	})
}

// use is what a process has taken of the machine.
type use struct {
	memory float64 // MB, resident
	peak   float64 // MB, the most that was ever resident
	cpu    float64 // seconds since its start
}

func useOf(daemons [2]*fixture) (all [2]use, err error) {
	for i, w := range daemons {
		if all[i], err = w.use(); err != nil {
			return all, err
		}
	}
	return all, nil
}

// use is what the daemon has taken until now.
func (w *fixture) use() (u use, err error) {
	proc := filepath.Join("/proc", strconv.Itoa(w.daemon.Process.Pid))
	status, serr := os.ReadFile(filepath.Join(proc, "status"))
	stat, terr := os.ReadFile(filepath.Join(proc, "stat"))
	if err := errors.Join(serr, terr); err != nil {
		return u, fmt.Errorf("read what the daemon uses: %w\n%s", err, w.said())
	}
	var rerr, perr, cerr error
	u.memory, rerr = megabytesOf(string(status), "VmRSS:")
	u.peak, perr = megabytesOf(string(status), "VmHWM:")
	u.cpu, cerr = cpuSeconds(string(stat))
	return u, errors.Join(rerr, perr, cerr)
}

// megabytesOf reads a size in MB out of /proc/PID/status.
func megabytesOf(status, name string) (float64, error) {
	for line := range strings.Lines(status) {
		if value, ok := strings.CutPrefix(line, name); ok {
			kib, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "kB")), 64)
			return kib * 1024 / 1e6, err
		}
	}
	return 0, fmt.Errorf("/proc/PID/status has no %s", name)
}

// cpuSeconds reads user and system time out of /proc/PID/stat. The kernel shows them in
// hundredths of a second on every architecture that Go knows.
func cpuSeconds(stat string) (float64, error) {
	// The command in parentheses may hold anything: the fields after it are counted.
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	if len(fields) < 13 {
		return 0, fmt.Errorf("/proc/PID/stat is %q", stat)
	}
	user, uerr := strconv.ParseFloat(fields[11], 64)
	system, serr := strconv.ParseFloat(fields[12], 64)
	return (user + system) / 100, errors.Join(uerr, serr)
}
