package watch

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
)

// TestAQueueThatOverflowsLosesNothing fills the kernel's queue while nobody reads it; what
// happens in the root after that is told by no event.
func TestAQueueThatOverflowsLosesNothing(t *testing.T) {
	room, err := os.ReadFile("/proc/sys/fs/inotify/max_queued_events")
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(room)))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write(t, dir+"/a", "")
	write(t, dir+"/b", "")
	log := &syncBuffer{}
	w := connected(t, Options{Roots: []string{dir}, Settle: time.Millisecond, Poll: time.Hour, Log: slog.New(slog.NewTextHandler(log, nil))})
	for range n { // in turn: equal events that follow each other become one
		touch(t, dir+"/a")
		touch(t, dir+"/b")
	}
	write(t, dir+"/new/c/a.hcl", "")

	pulses := make(chan struct{})
	ended := make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	before := w.fs
	go func() {
		defer close(ended)
		w.run(ctx, pulses)
	}()
	for !strings.Contains(log.String(), fsnotify.ErrEventOverflow.Error()) { // it comes last
		awaitPulse(t, pulses)
	}
	for range 2 { // the first may have been due before
		write(t, dir+"/new/c/a.hcl", "told again")
		awaitPulse(t, pulses)
	}
	cancel()
	<-ended
	if w.fs == before {
		t.Error("the watcher was not built again")
	}
	if !w.layout.trees[dir+"/new/c"] {
		t.Errorf("the new folder is not watched: %v", w.layout.trees)
	}
}

// touch makes one event.
func touch(t *testing.T, path string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteString("x")
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestTheKernelsLimitsArePolledAround runs itself in a user namespace of its own, whose limits
// are nobody else's.
func TestTheKernelsLimitsArePolledAround(t *testing.T) {
	for _, tt := range []struct{ limit, reason string }{
		{"max_inotify_watches", "max_user_watches is reached"},
		{"max_inotify_instances", "ask the kernel for file events"},
	} {
		t.Run(tt.limit, func(t *testing.T) {
			if os.Getenv("WATCH_IN_NAMESPACE") != "" {
				underLimit(t, "/proc/sys/user/"+tt.limit, tt.reason)
				return
			}
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
			cmd.Env = append(os.Environ(), "WATCH_IN_NAMESPACE=1")
			cmd.SysProcAttr = &syscall.SysProcAttr{
				Cloneflags:  syscall.CLONE_NEWUSER,
				UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
				GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
			}
			out, err := cmd.CombinedOutput()
			if err != nil || !strings.Contains(string(out), "\n    --- PASS: ") {
				t.Fatalf("in a user namespace: %v\n%s", err, out)
			}
		})
	}
}

// underLimit lets the kernel give a watcher too little for all of its folders, and then enough.
func underLimit(t *testing.T, limit, reason string) {
	allow := func(n int) {
		if err := os.WriteFile(limit, []byte(strconv.Itoa(n)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	for i := range 8 {
		write(t, fmt.Sprintf("%s/%d/a.hcl", dir, i), strconv.Itoa(i))
	}
	few := 0
	if strings.HasSuffix(limit, "watches") {
		few = 5
	}
	allow(few)
	log := &syncBuffer{}
	looker := startLooker(t, Options{
		Roots: []string{dir}, Settle: time.Millisecond, Poll: 50 * time.Millisecond, Log: slog.New(slog.NewTextHandler(log, nil)),
	}, dir)
	looker.await("01234567")
	for i := range 8 {
		write(t, fmt.Sprintf("%s/%d/a.hcl", dir, i), "x")
	}
	looker.await("xxxxxxxx")
	if said := log.String(); strings.Count(said, "cannot be watched") != 1 || !strings.Contains(said, reason) {
		t.Errorf("want once that folders cannot be watched because %s:\n%s", reason, said)
	}
	allow(1000)
	for deadline := time.Now().Add(patience); !strings.Contains(log.String(), "watched again"); <-time.After(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("all is not watched again:\n%s", log.String())
		}
	}
}

// syncBuffer is a log that is read while it is written.
type syncBuffer struct {
	sync.Mutex
	text bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.Lock()
	defer b.Unlock()
	return b.text.Write(p)
}

func (b *syncBuffer) String() string {
	b.Lock()
	defer b.Unlock()
	return b.text.String()
}
