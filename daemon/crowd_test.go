//go:build linux

package daemon_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/daemon"
	"github.com/assayd/assayd/daemon/api"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/container/containertest"
)

// crowdDaemon is a process with the real daemon on the engine of a crowd.
type crowdDaemon struct {
	State, Specs, Socket string
	Settings             string // text of assayd.hcl
}

// serve runs until SIGTERM. It tells on standard error of each turn of the loop that takes long.
func (c crowdDaemon) serve() error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	settings, ds := config.LoadSettings("assayd.hcl", []byte(c.Settings), config.Options{Env: os.LookupEnv})
	if ds.HasErrors() {
		return fmt.Errorf("read the settings: %v", ds)
	}
	settings.Limits.Disk = 1 << 46
	o := daemon.Options{
		Settings: settings, Roots: []string{c.Specs}, StateDir: c.State, Version: "crowd",
		Log: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
	}
	d, err := daemon.Open(ctx, daemon.On(o, func(id string) *containertest.Remote {
		return containertest.NewRemote(c.Socket, id)
	}))
	if err != nil {
		return err
	}
	go func() {
		for longest := loopMayTake; ctx.Err() == nil; wait(ctx, 20*time.Millisecond) {
			if age := d.LoopAge(); age > longest {
				longest = age
				fmt.Fprintf(os.Stderr, "loop age %d ms\n", age.Milliseconds())
			} else if age < loopMayTake {
				longest = loopMayTake
			}
		}
	}()
	return d.Run(ctx)
}

// loopMayTake is from which age on a turn of the loop is told.
const loopMayTake = 100 * time.Millisecond

var loopAge = regexp.MustCompile(`(?m)^loop age (\d+) ms$`)

// crowd is a run of very many trials on a fake engine that is a process of its own.
type crowd struct {
	*fixture
	cells, live int
	socket      string
	model       string // URL of what its agents talk to; "" = they submit
	remote      *containertest.Remote
	cpu         time.Duration // that daemons took which have ended
	lines       int64         // bytes of the result file that were seen
}

// newCrowd starts the engine, and writes what is to be done.
func newCrowd(t *testing.T, cells, live int) *crowd {
	t.Helper()
	return newTalkingCrowd(t, cells, live, "")
}

// newTalkingCrowd is newCrowd with agents that talk to a model instead of submitting.
func newTalkingCrowd(t *testing.T, cells, live int, model string) *crowd {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "c") // short, because sockets lie below
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	w := &fixture{T: t, state: filepath.Join(dir, "s"), specs: filepath.Join(dir, "w"), program: self, bench: "crowd"}
	c := &crowd{fixture: w, cells: cells, live: live, socket: filepath.Join(dir, "e"), model: model}
	if err := os.Mkdir(w.specs, 0o755); err != nil {
		t.Fatal(err)
	}
	s, err := store.Open(t.Context(), w.state, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	w.owner = s.Owner()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	w.client = api.NewClient(api.Socket(w.state))
	part, err := json.Marshal(crowdDaemon{State: w.state, Specs: w.specs, Socket: c.socket, Settings: c.settings()})
	if err != nil {
		t.Fatal(err)
	}
	w.env = []string{crowdDaemonEnv + "=" + string(part)}
	c.remote = containertest.NewRemote(c.socket, "")
	engine := c.startEngine(dir)
	t.Cleanup(func() {
		if w.daemon != nil {
			w.daemon.kill()
		}
		_ = engine.Process.Kill()
		_ = engine.Wait() // it tells of the signal
		w.client.Close()
		if err := errors.Join(c.remote.Close(), os.RemoveAll(dir)); err != nil {
			t.Error(err)
		}
	})
	w.write("r.hcl", c.spec())
	return c
}

func (c *crowd) startEngine(dir string) *exec.Cmd {
	c.Helper()
	part, err := json.Marshal(crowdEngine{Socket: c.socket, Data: dir, Gate: c.live, Cells: c.cells, Active: 64, Talk: c.model != ""})
	if err != nil {
		c.Fatal(err)
	}
	log, err := os.Create(filepath.Join(dir, "engine.log"))
	if err != nil {
		c.Fatal(err)
	}
	engine := exec.Command(c.program)
	engine.Env = append(os.Environ(), crowdEngineEnv+"="+string(part))
	engine.Stdout, engine.Stderr = log, log
	if err := errors.Join(engine.Start(), log.Close()); err != nil {
		c.Fatal(err)
	}
	c.until("the engine answers", func() error {
		_, err := c.remote.HostInfo(c.Context())
		return err
	})
	return engine
}

// settings are those of the crowd's daemons.
func (c *crowd) settings() string {
	if c.model == "" {
		return ""
	}
	return fmt.Sprintf("provider \"openai\" {\n  base_url = %q\n  api_key = %q\n  prices = { \"scripted\" = { input = 10, output = 100 } }\n}\n", c.model+"/v1", modelKey)
}

// spec is a run of two agents with five attempts each at every task, whose containers ask for next
// to nothing.
func (c *crowd) spec() string {
	var tasks strings.Builder
	for i := range c.cells / 10 {
		fmt.Fprintf(&tasks, `
  task "climb%d" {
    image       = "crowd/work:1"
    instruction = "Raise the number in src/level."
    workdir     = "/workspace"
    submit {
      paths = ["src/"]
    }
    work {
      cpus   = 0.1
      memory = "16MiB"
      disk   = "1MiB"
    }
    judge {
      image   = "crowd/judge:1"
      command = "sh tests/check.sh"
      parser  = "structured_json"
      timeout = "5m"
      cpus    = 0.1
      memory  = "16MiB"
    }
  }
`, i)
	}
	api, model := "none", ""
	if c.model != "" {
		api, model = "openai", `model = "scripted"`
	}
	return fmt.Sprintf(`
benchmark "crowd" {%s}

agent "striver" {
  command = ["strive"]
  api     = %q
}

run "crowd" {
  tasks     = [benchmark.crowd]
  attempts  = 5
  parallel  = %d
  timeout   = "6h"
  auto_eval = "0s"
  agent "striver" {
    %s
  }
  agent "striver" {
    label = "other"
    %s
  }
}
`, tasks.String(), api, c.live, model, model)
}

// used is the CPU that the daemon has taken until now, with those before it.
func (c *crowd) used() time.Duration {
	c.Helper()
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(c.daemon.cmd.Process.Pid), "stat"))
	if err != nil {
		c.Fatal(err)
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	user, uerr := strconv.Atoi(fields[11])
	system, serr := strconv.Atoi(fields[12])
	if err := errors.Join(uerr, serr); err != nil {
		c.Fatal(err)
	}
	return c.cpu + time.Duration(user+system)*10*time.Millisecond
}

// crash kills the daemon and keeps what it took.
func (c *crowd) crash() {
	c.Helper()
	c.cpu = c.used()
	c.kill()
}

// follow reads what the result file got since, and says how many trials are over.
func (c *crowd) follow(over int) int {
	c.Helper()
	f, err := os.Open(filepath.Join(c.specs, crowdFile))
	if errors.Is(err, os.ErrNotExist) {
		return over
	}
	if err != nil {
		c.Fatal(err)
	}
	defer func() { _ = f.Close() }() // only read
	if _, err := f.Seek(c.lines, 0); err != nil {
		c.Fatal(err)
	}
	for lines := bufio.NewReader(f); ; {
		line, err := lines.ReadString('\n')
		if err != nil {
			return over // half a line is read again
		}
		c.lines += int64(len(line))
		if strings.Contains(line, `"type":"trial.finished"`) {
			over++
		}
	}
}

const crowdFile = "r.run.crowd.jsonl"

// through does the whole run with so many crashes in between, and returns the CPU that it took for
// each trial, once the first of its daemons was there.
func (c *crowd) through(crashes int) time.Duration {
	c.Helper()
	began := time.Now()
	c.launch()
	over := 0
	for i := range crashes + 1 {
		goal := c.cells * (i + 1) / (crashes + 1)
		c.untilWithin(4*time.Hour, fmt.Sprintf("%d trials are over", goal), func() error {
			select {
			case <-c.daemon.exited:
				c.Fatalf("the daemon ended: %v\n%s", c.daemon.err, tail([]byte(c.daemonLog()), 4000))
			default:
			}
			if over = c.follow(over); over < goal {
				return fmt.Errorf("%d are", over)
			}
			return nil
		})
		c.Logf("%6.1f s: %5d trials are over, and the daemons took %s", time.Since(began).Seconds(), over, c.used())
		if i < crashes {
			c.crash()
			c.launch()
		}
	}
	c.recorded(crowdFile, "the run's end", func(r record) bool { return r.Type == "run.finished" })
	each := c.used() / time.Duration(c.cells)
	c.Logf("%s of CPU for each of %d trials; the loop was at most %s old", each, c.cells, c.oldest())
	return each
}

// oldest is the age that the loop of any daemon reached; 0 = none that is told.
func (c *crowd) oldest() (most time.Duration) {
	c.Helper()
	logs, err := filepath.Glob(filepath.Join(filepath.Dir(c.state), "daemon-*.log"))
	if err != nil {
		c.Fatal(err)
	}
	for _, log := range logs {
		text, err := os.ReadFile(log)
		if err != nil {
			c.Fatal(err)
		}
		for _, m := range loopAge.FindAllStringSubmatch(string(text), -1) {
			ms, _ := strconv.Atoi(m[1])
			most = max(most, time.Duration(ms)*time.Millisecond)
		}
	}
	return most
}

// A run that is far larger than the machine, on an engine that is a process of its own, loses
// nothing to two crashes of the daemon.
func TestACrowdOfTrialsOutlivesTheDaemon(t *testing.T) {
	t.Parallel()
	c := newCrowd(t, 200, 100)
	c.through(2)
	c.endedWell()
}
