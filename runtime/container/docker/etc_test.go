package docker_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/moby/moby/client"

	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/container/containertest"
	"github.com/assayd/assayd/runtime/container/docker"
	"github.com/assayd/assayd/runtime/container/docker/dockertest"
)

// hostFiles are what Docker mounts of the host into every container.
var hostFiles = []string{"/etc/hosts", "/etc/hostname", "/etc/resolv.conf"}

// shell runs a line of shell in a container as root.
func shell(t *testing.T, e *docker.Engine, id, line string) (code int, out string) {
	t.Helper()
	var all bytes.Buffer
	code, err := e.Exec(t.Context(), id, container.Command{Argv: []string{"/bin/sh", "-c", line}, User: "0:0", Stdout: &all, Stderr: &all})
	if err != nil {
		t.Fatal(err)
	}
	return code, all.String()
}

// Docker's files of /etc lie on the host, outside of what a container's disk limit counts. A
// container has ours in their place, which root in it neither writes nor replaces; and names go
// on being found, also after a restart by a later daemon.
func TestNoFileOfTheHostCanBeWritten(t *testing.T) {
	_, owner := dockertest.New(t)
	for _, network := range []container.Network{container.NetworkNone, container.NetworkOpen} {
		t.Run(string(network), func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "etc")
			first, later := inDir(t, dir), inDir(t, dir)
			w := container.Workload{
				Name: "assayd-etc-test-" + containertest.Unique(), Image: "assayd-base/python:1", Argv: []string{"sleep", "10m"},
				Network: network, User: "0:0", Labels: map[string]string{container.LabelOwner: owner},
			}
			inst, err := first.Start(t.Context(), w)
			if err != nil {
				t.Fatal(err)
			}
			lockedFiles(t, first, inst.ID, dir)
			namesAreFound(t, first, inst.ID, network)
			if err := later.Stop(t.Context(), inst.ID, 0); err != nil {
				t.Fatal(err)
			}
			if again, err := later.Start(t.Context(), w); err != nil || again.ID != inst.ID {
				t.Fatalf("%+v, %v; want the same container again", again, err)
			}
			lockedFiles(t, later, inst.ID, dir)
			namesAreFound(t, later, inst.ID, network)
		})
	}
}

func inDir(t *testing.T, dir string) *docker.Engine {
	t.Helper()
	e, err := docker.New(context.Background(), docker.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() }) // what is left of the containers is swept by another
	return e
}

// lockedFiles tries what root in a container can do to the files.
func lockedFiles(t *testing.T, e *docker.Engine, id, dir string) {
	t.Helper()
	before := contents(t, dir)
	var script strings.Builder
	for _, name := range hostFiles {
		for _, attempt := range []string{
			"echo x >>" + name, ": >" + name, "dd if=/dev/zero of=" + name + " bs=1M count=1",
			"truncate -s 1M " + name, "chmod 666 " + name, "chown 1:1 " + name, "rm -f " + name,
			"mv " + name + " /etc/away", "cp /etc/passwd /etc/new && mv -f /etc/new " + name,
			"ln -sf /etc/passwd " + name, "mount -o remount,rw " + name, "mount -o remount,rw,bind " + name,
			"umount " + name, "mount --bind /etc/passwd " + name,
		} {
			fmt.Fprintf(&script, "(%s) >/dev/null 2>&1 && echo '%s'\n", attempt, attempt)
		}
	}
	if _, done := shell(t, e, id, script.String()); done != "" {
		t.Errorf("this was done:\n%s", done)
	}
	if after := contents(t, dir); after != before {
		t.Errorf("the files of the host were\n%s\nand are\n%s", before, after)
	}
	// Nothing else of the host is there to be written.
	_, out := shell(t, e, id, `grep -v ' - \(proc\|sysfs\|tmpfs\|devpts\|mqueue\|cgroup\|cgroup2\|overlay\) ' /proc/self/mountinfo | awk '$6 !~ /^ro/'`)
	if out != "" {
		t.Errorf("these mounts of the host can be written:\n%s", out)
	}
}

func contents(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	names, err := filepath.Glob(filepath.Join(dir, "*"))
	for _, name := range names {
		var text []byte
		text, err = os.ReadFile(name)
		all.WriteString(name + ":\n" + string(text))
	}
	if err != nil || len(names) == 0 {
		t.Fatalf("%q, %v", names, err)
	}
	return all.String()
}

func namesAreFound(t *testing.T, e *docker.Engine, id string, network container.Network) {
	t.Helper()
	for line, want := range map[string]string{
		`python3 -c 'import socket; print(socket.gethostbyname("localhost"))'`:                 "127.0.0.1\n",
		`python3 -c 'import socket; print(socket.gethostbyname(socket.gethostname()))'`:        "127.0.0.1\n",
		`python3 -c 'import socket; print(socket.gethostbyaddr("127.0.0.1")[0])'`:              "localhost\n",
		`[ "$(cat /etc/hostname)" = "$(cat /proc/sys/kernel/hostname)" ] && cat /etc/hostname`: "container\n",
	} {
		if code, out := shell(t, e, id, line); code != 0 || out != want {
			t.Errorf("%s: exit %d, %q; want %q", line, code, out, want)
		}
	}
	_, out := shell(t, e, id, "cat /etc/resolv.conf")
	if network == container.NetworkNone {
		if strings.Contains(out, "nameserver") {
			t.Errorf("without a network there are the servers\n%s", out)
		}
		return
	}
	// Docker goes on writing its own file, which nobody sees.
	info, err := e.HostInfo(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	dockers, err := os.ReadFile(filepath.Join(info.DataRoot, "containers", id, "resolv.conf"))
	if err != nil {
		t.Fatalf("this test reads Docker's own files, as root: %v", err)
	}
	if have, want := settingsOf(out), settingsOf(string(dockers)); !slices.Equal(have, want) {
		t.Errorf("the container has %q, where Docker would give it %q", have, want)
	}
}

// settingsOf are the lines of a resolv.conf that say something.
func settingsOf(conf string) (lines []string) {
	for line := range strings.Lines(conf) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			lines = append(lines, line)
		}
	}
	return lines
}

// An image may ask for volumes, which lie beside its layer.
func TestVolumesOfAnImageAreMeasured(t *testing.T) {
	e, owner, image := dockertest.Probe(t)
	asking, err := client.New(client.FromEnv)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = asking.Close() })
	w := container.Workload{
		Name: "assayd-volume-test-" + containertest.Unique(), Image: image, Argv: []string{"/probe", "sleep", "1h"},
		Network: container.NetworkNone, Labels: map[string]string{container.LabelOwner: owner},
	}
	plain, err := e.Start(t.Context(), w)
	if err != nil {
		t.Fatal(err)
	}
	made, err := asking.ContainerCommit(t.Context(), plain.ID, client.ContainerCommitOptions{
		Reference: "assayd-volume-test/" + containertest.Unique() + ":1", Changes: []string{"VOLUME /data"},
	})
	if err != nil {
		t.Fatal(err)
	}
	w.Name, w.Image = w.Name+"-2", made.ID
	inst, err := e.Start(t.Context(), w)
	if err != nil {
		t.Fatal(err)
	}
	output(t, e, inst.ID, "write", "/data/file", strings.Repeat("x", 100_000))
	if u, err := e.Usage(t.Context(), inst.ID); err != nil || u.DiskBytes < 100_000 {
		t.Errorf("%+v, %v; want 100,000 bytes and more in the volume", u, err)
	}
}
