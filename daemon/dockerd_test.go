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
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/container/containertest"
	"github.com/assayd/assayd/runtime/container/docker"
)

// dockerd is an engine of the test's own, which may be killed: the machine's serves others.
// It has its own images and containers, and a network namespace of its own, because it
// would take the machine's bridge away otherwise.
type dockerd struct {
	*testing.T
	dir         string
	liveRestore bool // its containers go on while it is away
	cmd         *exec.Cmd
	exited      chan struct{} // closed when cmd has ended; nil = it was never started
}

// smallImage is the only image that a dockerd of a test's own has.
const smallImage = "assayd-test/small:1"

// newDockerd starts an engine that holds smallImage. When the test is over nothing of it is
// left.
func newDockerd(t *testing.T, liveRestore bool) *dockerd {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "d") // short, because sockets lie below
	if err != nil {
		t.Fatal(err)
	}
	d := &dockerd{T: t, dir: dir, liveRestore: liveRestore}
	t.Cleanup(func() {
		if t.Failed() {
			text, _ := os.ReadFile(filepath.Join(dir, "log"))
			t.Logf("the test's dockerd:\n%s", tail(text, 3000))
		}
		d.kill()
		d.reap()
		if err := errors.Join(unmountBelow(dir), os.RemoveAll(dir)); err != nil {
			t.Error(err)
		}
	})
	d.start()
	d.load()
	return d
}

// host is the address at which the engine listens.
func (d *dockerd) host() string { return "unix://" + d.socket() }

func (d *dockerd) socket() string { return filepath.Join(d.dir, "d.sock") }

// start starts the engine unless it runs, and waits until it answers.
func (d *dockerd) start() {
	d.Helper()
	if d.runs() {
		return
	}
	log, err := os.OpenFile(filepath.Join(d.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		d.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(d.dir, name) }
	d.cmd = exec.Command("dockerd", "--bridge=none", "--iptables=false", "--host", d.host(), "--data-root", at("data"),
		"--exec-root", at("x"), "--pidfile", at("pid"), fmt.Sprintf("--live-restore=%t", d.liveRestore))
	d.cmd.Stdout, d.cmd.Stderr = log, log
	d.cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Setpgid: true}
	if err := errors.Join(d.cmd.Start(), log.Close()); err != nil {
		d.Fatalf("start a dockerd of the test's own, which takes root: %v", err)
	}
	d.exited = make(chan struct{})
	go func() {
		defer close(d.exited)
		_ = d.cmd.Wait() // it is told to end, one way or another
	}()
	d.answers()
}

func (d *dockerd) answers() {
	d.Helper()
	engine, err := docker.New(d.Context(), docker.Options{Host: d.host()})
	if err != nil {
		d.Fatal(err)
	}
	defer func() { _ = engine.Close() }() // only asked
	for deadline := time.Now().Add(patience); ; <-time.After(50 * time.Millisecond) {
		_, err := engine.HostInfo(d.Context())
		if err == nil {
			return
		}
		if !d.runs() || time.Now().After(deadline) {
			d.Fatalf("the test's dockerd does not come up: %v", err)
		}
	}
}

func (d *dockerd) runs() bool {
	if d.exited == nil {
		return false
	}
	select {
	case <-d.exited:
		return false
	default:
		return true
	}
}

// stop ends the engine with a signal and waits until it has ended.
func (d *dockerd) stop(s syscall.Signal) {
	d.Helper()
	if err := d.cmd.Process.Signal(s); err != nil {
		d.Fatal(err)
	}
	select {
	case <-d.exited:
	case <-time.After(patience):
		d.Fatalf("the test's dockerd did not end on %s", s)
	}
	d.forget()
}

// freezeUnheard freezes a container in such a way that the engine never hears of it: it is stopped
// meanwhile, and must be killed before it goes on.
func (d *dockerd) freezeUnheard(id string) {
	d.Helper()
	if err := d.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		d.Fatal(err)
	}
	ctr := exec.CommandContext(d.Context(), "ctr", "--address", filepath.Join(d.dir, "x/containerd/containerd.sock"), "--namespace", "moby", "tasks", "pause", id)
	if out, err := ctr.CombinedOutput(); err != nil {
		d.Fatalf("freeze a container behind the engine's back: %v: %s", err, out)
	}
}

// kill is stop by SIGKILL for an engine that may have ended.
func (d *dockerd) kill() {
	if d.exited == nil {
		return
	}
	_ = d.cmd.Process.Kill() // it may have ended by itself
	<-d.exited
	d.forget()
}

// forget removes what a killed engine leaves to tell the next one that it runs: the next
// would wait for processes whose numbers others may have by then.
func (d *dockerd) forget() {
	for _, name := range []string{"pid", "x/containerd/containerd.pid"} {
		path := filepath.Join(d.dir, name)
		if text, err := os.ReadFile(path); err == nil {
			if pid, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil && d.owns(pid) {
				_ = unix.Kill(pid, unix.SIGKILL) // a containerd dies with its dockerd, but a little later
			}
		}
		_ = os.Remove(path)
	}
}

// owns reports whether a process is one of this engine's.
func (d *dockerd) owns(pid int) bool {
	command, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return bytes.Contains(command, []byte(d.dir+"/"))
}

// reap kills what is left of the engine's processes: those that hold containers outlive it.
func (d *dockerd) reap() {
	all, _ := filepath.Glob("/proc/[0-9]*")
	for _, name := range all {
		if pid, err := strconv.Atoi(filepath.Base(name)); err == nil && d.owns(pid) {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
	}
}

// unmountBelow unmounts all that is mounted below a folder, the last one first.
func unmountBelow(dir string) error {
	text, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		return err
	}
	lines := strings.Split(string(text), "\n")
	slices.Reverse(lines)
	for _, line := range lines {
		fields := strings.Fields(line)
		if len(fields) > 1 && strings.HasPrefix(fields[1], dir+"/") {
			err = errors.Join(err, unix.Unmount(fields[1], unix.MNT_DETACH))
		}
	}
	return err
}

// smallTar is a file system with a shell and little else, taken from the base image: that
// one is too big to be copied into an engine that lives for a minute.
var smallTar = sync.OnceValues(func() (tar []byte, err error) {
	const script = `set -e
programs="/bin/sh /bin/cat /bin/sleep /bin/mkdir /bin/rm /bin/touch /bin/chmod /bin/chown /bin/cp /bin/mv /usr/bin/wc"
libraries=$(ldd $programs | awk '/=> \//{print $3} /^\t\//{print $1}' | sort -u)
exec tar -chf - --no-recursion $programs $libraries /etc/passwd /etc/group /tmp /var/tmp /root`
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	e, err := docker.New(ctx, docker.Options{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	c, err := e.Start(ctx, container.Workload{
		Name: "assayd-small-" + containertest.Unique(), Image: base, Argv: []string{"/bin/sleep", "600"}, Network: container.NetworkNone,
	})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, e.Remove(context.WithoutCancel(ctx), c.ID)) }()
	var out, problems bytes.Buffer
	code, err := e.Exec(ctx, c.ID, container.Command{Argv: []string{"/bin/sh", "-c", script}, Stdout: &out, Stderr: &problems})
	if err == nil && code != 0 {
		err = fmt.Errorf("exit %d: %s", code, problems.String())
	}
	return out.Bytes(), err
})

// load imports smallImage.
func (d *dockerd) load() {
	d.Helper()
	tar, err := smallTar()
	if err != nil {
		d.Fatalf("take a small image out of %s: %v", base, err)
	}
	e, err := docker.New(d.Context(), docker.Options{Host: d.host()})
	if err == nil {
		_, err = e.Import(d.Context(), smallImage, bytes.NewReader(tar), container.ImageConfig{})
		err = errors.Join(err, e.Close())
	}
	if err != nil {
		d.Fatalf("load the small image: %v", err)
	}
}

// fixture makes a world whose containers are this engine's. Its daemons reach it at host,
// which may be a door before it; "" is the engine's own.
func (d *dockerd) fixture(host string) *fixture {
	d.Helper()
	w := newFixtureOn(d.T, "/tmp", d.host())
	w.image = smallImage
	settings := filepath.Join(filepath.Dir(w.state), "assayd.hcl")
	text := fmt.Sprintf("engine \"docker\" {\n  host = %q\n}\n", cmp.Or(host, d.host()))
	if err := os.WriteFile(settings, []byte(text), 0o644); err != nil {
		d.Fatal(err)
	}
	w.flags = []string{"--config", settings}
	d.Cleanup(d.start) // the world is cleaned up after this, which takes an engine
	return w
}

// shortDir is a folder for sockets, whose addresses must be short.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "d")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}
