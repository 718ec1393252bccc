//go:build linux

package daemon_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/container/containertest"
	"github.com/assayd/assayd/runtime/image"
)

// sweep removes the world's containers and what was built in it: an image for each task and
// role. The engine may make a container for a daemon that was killed meanwhile, which keeps its
// image in use until it is swept, too.
func (w *fixture) sweep() error {
	for deadline := time.Now().Add(patience); ; <-time.After(100 * time.Millisecond) {
		containertest.Sweep(w.T, w.engine, w.owner)
		err := w.removeImages()
		if !errors.Is(err, container.ErrConflict) || time.Now().After(deadline) {
			return err
		}
	}
}

func (w *fixture) removeImages() error {
	ctx := context.WithoutCancel(w.Context())
	made, err := w.engine.ListImages(ctx, image.LabelImageOwner, w.owner)
	for _, img := range made {
		for _, ref := range img.Refs {
			err = errors.Join(err, w.engine.RemoveImage(ctx, ref))
		}
	}
	return err
}

// explain shows what the daemons said, and why the engine does not answer, if it does not.
func (w *fixture) explain() {
	logs, _ := filepath.Glob(filepath.Join(filepath.Dir(w.state), "*.log"))
	for _, name := range logs {
		text, _ := os.ReadFile(name)
		w.Logf("%s:\n%s", filepath.Base(name), tail(text, 6000))
	}
	agents, _ := filepath.Glob(filepath.Join(w.state, "trials", "*", "*", "agent.log"))
	for _, name := range agents {
		text, _ := os.ReadFile(name)
		w.Logf("%s:\n%s", name, tail(text, 1500))
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(w.Context()), 20*time.Second)
	defer cancel()
	if _, err := w.engine.Observe(ctx, w.owner); ctx.Err() != nil {
		w.Logf("the engine does not answer about the world's containers: %v\n%s", err, w.engineStacks())
	}
}

// engineStacks is where the machine's dockerd waits for a lock, if contrib/docker/up has started
// it: no other is sent a signal.
func (w *fixture) engineStacks() string {
	text, err := os.ReadFile("/var/run/assayd-dockerd.pid")
	if err != nil {
		return "it is not ours, and not asked where it waits"
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid)); err != nil || string(name) != "dockerd\n" {
		return "it has ended"
	}
	stacks, err := stacksOf(pid, "/var/run/docker")
	if err != nil {
		return err.Error()
	}
	return lockWaits(stacks)
}

// stacksOf makes a dockerd write its goroutines to a file in its folder.
func stacksOf(pid int, folder string) (string, error) {
	pattern := filepath.Join(folder, "goroutine-stacks-*.log")
	before, _ := filepath.Glob(pattern)
	if err := unix.Kill(pid, unix.SIGUSR1); err != nil {
		return "", fmt.Errorf("ask dockerd for its goroutines: %w", err)
	}
	var text []byte
	for range 50 {
		<-time.After(100 * time.Millisecond)
		if now, _ := filepath.Glob(pattern); len(now) > len(before) {
			more, _ := os.ReadFile(now[len(now)-1]) // their names are times
			if len(more) > 0 && len(more) == len(text) {
				return string(more), os.Remove(now[len(now)-1])
			}
			text = more
		}
	}
	return "", errors.New("dockerd does not write its goroutines")
}

var waitsForLock = regexp.MustCompile(`^goroutine \d+ \[(semacquire|sync\.|chan receive, \d+ minutes).*\]:`)

// lockWaits are the goroutines of a dump that wait for a lock, and no more than one can read.
func lockWaits(stacks string) string {
	var found []string
	for goroutine := range strings.SplitSeq(stacks, "\n\n") {
		if waitsForLock.MatchString(goroutine) && strings.Contains(goroutine, "daemon.(*Daemon)") {
			found = append(found, goroutine)
		}
	}
	text := strings.Join(found[:min(len(found), 12)], "\n\n")
	return cmp.Or(text, "none of its goroutines waits for a lock")
}

func TestADockerdIsAskedWhereItWaits(t *testing.T) {
	d := newDockerd(t, false)
	stacks, err := stacksOf(d.cmd.Process.Pid, filepath.Join(d.dir, "x"))
	if err != nil || !strings.Contains(stacks, "goroutine 1 [") {
		t.Errorf("%v\n%s", err, stacks)
	}
	const waiting = "goroutine 7 [semacquire, 3 minutes]:\nsync.runtime_SemacquireMutex\ngithub.com/docker/docker/daemon.(*Daemon).ContainerInspectCurrent"
	if got := lockWaits("goroutine 1 [running]:\nmain\n\n" + waiting + "\n\ngoroutine 9 [select]:\ndaemon.(*Daemon).x"); got != waiting {
		t.Errorf("waits for a lock:\n%s", got)
	}
}

// A killed daemon's request may arrive at the engine when all was swept already.
func TestWhatTheEngineMakesLateIsSwept(t *testing.T) {
	w := newFixture(t)
	const ref = "assayd-test/late:1"
	rootfs, err := smallTar()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.engine.Import(t.Context(), ref, bytes.NewReader(rootfs), container.ImageConfig{
		Labels: map[string]string{image.LabelImageOwner: w.owner},
	}); err != nil {
		t.Fatal(err)
	}
	c, err := w.engine.Start(t.Context(), container.Workload{ // nobody else sweeps what this owner has
		Name: "assayd-late-" + containertest.Unique(), Image: ref, Argv: []string{"/bin/sleep", "600"}, Network: container.NetworkNone,
		Labels: map[string]string{container.LabelOwner: "test-" + containertest.Unique()},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.removeImages(); !errors.Is(err, container.ErrConflict) {
		t.Errorf("an image in use is removed: %v", err)
	}
	swept := make(chan error, 1)
	go func() { swept <- w.sweep() }()
	if err := w.engine.Remove(t.Context(), c.ID); err != nil {
		t.Error(err)
	}
	if err := <-swept; err != nil {
		t.Error(err)
	}
	if _, err := w.engine.Image(t.Context(), ref); !errors.Is(err, container.ErrNotFound) {
		t.Errorf("the image is left: %v", err)
	}
}

// inside runs a shell command in a container as root, in the folder and with the variables of
// its first process. It does not ask the engine: the daemon may freeze the container at any
// moment, and Docker locks one up in which another process starts a command just then.
func (w *fixture) inside(id, script string) string {
	w.Helper()
	pid, err := firstProcess(id)
	if err != nil {
		w.Fatal(err)
	}
	environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil {
		w.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(w.Context(), patience)
	defer cancel()
	nsenter, err := exec.LookPath("nsenter")
	if err != nil {
		w.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, nsenter, "--target", strconv.Itoa(pid), "--mount", "--uts", "--ipc", "--net", "--pid", "--wd", "--",
		"/bin/sh", "-c", script)
	cmd.Env = strings.FieldsFunc(string(environ), func(r rune) bool { return r == 0 })
	out, err := cmd.Output()
	if err != nil {
		w.Fatalf("in the container: %s: %v", script, err)
	}
	return string(out)
}

// firstProcess is the number that the host gives to the first process of a container.
func firstProcess(id string) (int, error) {
	all, err := filepath.Glob("/proc/[0-9]*")
	for _, dir := range all {
		groups, _ := os.ReadFile(filepath.Join(dir, "cgroup")) // it may have ended
		if !bytes.Contains(groups, []byte(id)) {
			continue
		}
		status, _ := os.ReadFile(filepath.Join(dir, "status"))
		for line := range strings.Lines(string(status)) {
			if fields := strings.Fields(line); len(fields) > 2 && fields[0] == "NSpid:" && fields[len(fields)-1] == "1" {
				return strconv.Atoi(filepath.Base(dir))
			}
		}
	}
	return 0, fmt.Errorf("container %s has no first process: %w", id, cmp.Or(err, errors.New("it does not run")))
}
