package engines_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/daemon"
	"github.com/assayd/assayd/daemon/engines"
	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/container/containertest"
)

const secondSettings = `
engine "second" {
  endpoint = "tcp://elsewhere"
}
limits {
  disk = "1TiB"
}
`

const secondSpec = `
benchmark "b" {
  task "one" {
    image       = "work:1"
    instruction = "Work."
    workdir     = "/workspace"
    submit {
      paths = ["src/"]
    }
    judge {
      image   = "work:1"
      command = "true"
      parser  = "exit_code"
    }
  }
}

agent "a" {
  command = ["work"]
}

run "r" {
  tasks        = [benchmark.b]
  mode         = "single"
  sanity_check = false
  engine       = "second"
  agent "a" {}
}
`

// An engine that no other code knows is added by one line of the table. Specs and settings name it then, and
// the containers of their trials are its own.
func TestADaemonWorksWithAnEngineThatIsAddedByOneLine(t *testing.T) {
	dir, err := os.MkdirTemp("", "e") // short, because sockets lie below
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	begun := make(chan container.Workload, 1)
	fake := containertest.NewFake()
	fake.SetHost(container.HostInfo{CPUs: 8, Memory: 32 << 30, Platform: "linux/amd64", Version: "2", DataRoot: dir})
	fake.AddImage("work:1", container.ImageConfig{}, map[string]string{"/bin/sh": "", "/workspace/x": ""})
	fake.Handle(func(ctx context.Context, c *containertest.FakeContainer) int {
		if c.Workload().Labels[container.LabelRole] == container.RoleWork {
			begun <- c.Workload()
		}
		<-ctx.Done()
		return 137
	})
	endpoint := ""
	open := func(_ context.Context, settings config.Engine, _ engines.Options) (engines.Engine, error) {
		endpoint = settings.Texts["endpoint"]
		return fake, nil
	}
	kinds := engines.All()
	kinds["second"] = engines.Kind{Open: open, Settings: config.EngineKind{Texts: map[string]func(string) error{"endpoint": nil}}}

	settings, ds := config.LoadSettings("assayd.hcl", []byte(secondSettings), config.Options{Engines: kinds.Language()})
	if len(ds) > 0 {
		t.Fatal(ds)
	}
	specs := filepath.Join(dir, "w")
	if err := os.Mkdir(specs, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(specs, "r.hcl"), []byte(secondSpec), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	d, err := daemon.Open(ctx, daemon.Options{
		Settings: settings, Roots: []string{specs}, StateDir: filepath.Join(dir, "s"), Version: "test", Engines: kinds,
		Log: slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
	if err != nil {
		t.Fatal(err)
	}
	over := make(chan error, 1)
	go func() { over <- d.Run(ctx) }()
	select {
	case w := <-begun:
		if trial := w.Labels[container.LabelTrial]; trial == "" {
			t.Errorf("a container of no trial: %+v", w)
		}
	case err := <-over:
		t.Fatal(fmt.Errorf("the daemon ended: %w", err))
	case <-time.After(time.Minute):
		t.Error("no trial has begun")
	}
	if endpoint != "tcp://elsewhere" {
		t.Errorf("the engine was opened at %q", endpoint)
	}
	stop()
	if err := <-over; err != nil {
		t.Error(err)
	}
}
