package zz

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/pprof"
	"strconv"
	"strings"
	"testing"
	"time"
	"syscall"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/daemon"
)

func cpu() time.Duration {
	var r syscall.Rusage
	syscall.Getrusage(0, &r)
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

func TestX(t *testing.T) {
	n, _ := strconv.Atoi(os.Getenv("N"))
	dir, _ := os.MkdirTemp("/tmp", "z")
	defer os.RemoveAll(dir)
	specs := filepath.Join(dir, "w")
	os.Mkdir(specs, 0o755)
	os.WriteFile(specs+"/shared.hcl", []byte(`benchmark "zzb" {
  task "idle" {
    image = "assayd-base/python:1"
    instruction = "Wait."
    judge {
      command = ["true"]
      parser = "exit_code"
    }
  }
}
`), 0o644)
	for i := range n {
		os.WriteFile(fmt.Sprintf("%s/n%d.hcl", specs, i), []byte(fmt.Sprintf(`run "n%d" {
  tasks = [benchmark.zzb]
  agent "nop" {}
  schedule = "0 0 1 1 *"
}
`, i)), 0o644)
	}
	s := config.DefaultSettings(os.LookupEnv)

	d, err := daemon.Open(t.Context(), daemon.Options{Settings: s, Roots: []string{specs}, StateDir: filepath.Join(dir, "s"), Log: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	b := time.Now()
	done := make(chan error); f0, _ := os.Create("/tmp/zz.start"); pprof.StartCPUProfile(f0)
	go func() { done <- d.Run(ctx) }()
	if err := d.Reload(ctx); err != nil { t.Fatal(err) }
	pprof.StopCPUProfile(); t.Log("ready+reload", time.Since(b), cpu()); if os.Getenv("START") != "" { cancel(); <-done; return }
	time.Sleep(8 * time.Second)
	t.Log("settled", cpu())
	rss, _ := os.ReadFile("/proc/self/status")
	for l := range strings.Lines(string(rss)) { if strings.HasPrefix(l, "VmRSS") || strings.HasPrefix(l, "VmHWM") { t.Log(l) } }
	f, _ := os.Create("/tmp/zz.cpu")
	pprof.StartCPUProfile(f)
	c := cpu()
	b = time.Now()
	for range 5 {
	os.WriteFile(specs+"/touch.txt", []byte("x"), 0o644)
	time.Sleep(3 * time.Second)
	}
	pprof.StopCPUProfile()
	t.Log("5 looks", cpu()-c)
	f, _ = os.Create("/tmp/zz.heap")
	pprof.WriteHeapProfile(f)
	f.Close()
	cancel()
	t.Log(<-done)
}
