package docker_test

import (
	"bytes"
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/container/containertest"
	"github.com/assayd/assayd/runtime/container/docker"
	"github.com/assayd/assayd/runtime/container/docker/dockertest"
)

func TestNewRefusesOnlyWhatCannotBeRight(t *testing.T) {
	for _, host := range []string{"nonsense", "ssh://somewhere", "unix://", "tcp://[bad"} {
		if e, err := docker.New(t.Context(), docker.Options{Host: host}); err == nil {
			t.Errorf("host %q was accepted: %v", host, e.Close())
		} else if !strings.Contains(err.Error(), host) {
			t.Errorf("the error does not name the host %q: %v", host, err)
		}
	}
}

func TestAnEngineThatCannotBeAskedIsUnavailable(t *testing.T) {
	dir := t.TempDir()
	silent := filepath.Join(dir, "silent.sock") // accepts and says nothing sensible
	serve(t, silent, func(w http.ResponseWriter, _ *http.Request) { panic(http.ErrAbortHandler) })
	starting := filepath.Join(dir, "starting.sock")
	serve(t, starting, func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, `{"message":"the daemon is shutting down"}`, http.StatusServiceUnavailable)
	})
	for name, host := range map[string]string{
		"no socket":     "unix://" + filepath.Join(dir, "none.sock"),
		"refused":       "tcp://127.0.0.1:1",
		"breaks off":    "unix://" + silent,
		"shutting down": "unix://" + starting,
	} {
		t.Run(name, func(t *testing.T) {
			e := connect(t, host)
			_, err := e.Inspect(t.Context(), "x")
			if !container.Unavailable(err) || errors.Is(err, container.ErrNotFound) {
				t.Errorf("inspect: %v", err)
			}
			_, err = e.Start(t.Context(), container.Workload{Name: "x", Image: "x"})
			if !container.Unavailable(err) {
				t.Errorf("start: %v", err)
			}
			for what, err := range map[string]error{
				"stop": e.Stop(t.Context(), "x", 0), "remove": e.Remove(t.Context(), "x"), "freeze": e.Freeze(t.Context(), "x"),
				"remove image": e.RemoveImage(t.Context(), "x"), "copy": e.CopyTo(t.Context(), "x", "/", strings.NewReader("")),
			} {
				if !container.Unavailable(err) {
					t.Errorf("%s: %v", what, err)
				}
			}
		})
	}
}

func TestAContainerIsLockedUp(t *testing.T) {
	e, owner, image := dockertest.Probe(t)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "given.txt"), []byte("given"), 0o644); err != nil {
		t.Fatal(err)
	}
	w := container.Workload{
		Name: "assayd-docker-" + containertest.Unique(), Image: image, Argv: []string{"/probe", "sleep", "1h"},
		Network: container.NetworkNone,
		Limits:  container.Limits{CPUs: 0.5, Memory: 64 << 20, PIDs: 50, Disk: 1 << 30, CPUSet: "0"},
		Mounts:  []container.Mount{{Source: dir, Target: "/given", ReadOnly: true}},
		Labels:  map[string]string{container.LabelOwner: owner},
	}
	inst, err := e.Start(t.Context(), w)
	if err != nil {
		t.Fatal(err)
	}
	if got := output(t, e, inst.ID, "links"); got != "lo\n" {
		t.Errorf("network none has the interfaces %q", got)
	}
	if got := output(t, e, inst.ID, "cat", "/given/given.txt"); got != "given" {
		t.Errorf("the mounted file has %q", got)
	}
	if code, err := e.Exec(t.Context(), inst.ID, container.Command{Argv: []string{"/probe", "write", "/given/x", "y"}}); err != nil || code == 0 {
		t.Errorf("a read-only mount was written to: code %d, %v", code, err)
	}
	status := output(t, e, inst.ID, "cat", "/proc/1/status")
	for _, line := range []string{
		// CHOWN 0, DAC_OVERRIDE 1, FOWNER 3, FSETID 4, KILL 5, SETGID 6, SETUID 7
		"CapBnd:\t00000000000000fb\n", "NoNewPrivs:\t1\n", "Cpus_allowed_list:\t0\n", "Pid:\t1\n", "Name:\tprobe\n",
	} {
		if !strings.Contains(status, line) {
			t.Errorf("the first process has no %q in\n%s", line, status)
		}
	}
}

func TestTheOpenNetworkHasAnInterface(t *testing.T) {
	e, owner, image := dockertest.Probe(t)
	inst, err := e.Start(t.Context(), container.Workload{
		Name: "assayd-docker-" + containertest.Unique(), Image: image, Argv: []string{"/probe", "sleep", "1h"},
		Network: container.NetworkOpen, Labels: map[string]string{container.LabelOwner: owner},
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := output(t, e, inst.ID, "links"); !strings.Contains(got, "eth0") {
		t.Errorf("the open network has the interfaces %q", got)
	}
}

func TestAPullSaysWhatIsMissing(t *testing.T) {
	e, _ := dockertest.New(t)
	const ref = "127.0.0.1:1/nobody/nothing:1"
	_, err := e.Pull(t.Context(), ref, "linux/amd64")
	if err == nil || !strings.Contains(err.Error(), ref) || !strings.Contains(err.Error(), "registry 127.0.0.1:1 cannot be reached") {
		t.Errorf("pull from a registry that is not there: %v", err)
	}
	if container.Unavailable(err) {
		t.Errorf("the engine is blamed for its registry: %v", err)
	}
}

func TestAWaitSurvivesTheEngine(t *testing.T) {
	e, owner, image := dockertest.Probe(t)
	// Between the client and the real engine stands a door that can be shut and opened.
	door := filepath.Join(t.TempDir(), "door.sock")
	shut := proxy(t, door)
	through := connect(t, "unix://"+door)
	inst, err := e.Start(t.Context(), container.Workload{
		Name: "assayd-docker-" + containertest.Unique(), Image: image, Argv: []string{"/probe", "sleep", "1h"},
		Network: container.NetworkNone, Labels: map[string]string{container.LabelOwner: owner},
	})
	if err != nil {
		t.Fatal(err)
	}
	result := make(chan container.Exit, 1)
	go func() {
		exit, err := through.Wait(t.Context(), inst.ID)
		if err != nil {
			t.Error(err)
		}
		result <- exit
	}()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	hints := through.Hints(ctx, owner)
	if first := <-hints; first != "" {
		t.Errorf("the first hint is %q, want one for all", first)
	}
	open := shut()
	if _, err := through.Inspect(t.Context(), inst.ID); !container.Unavailable(err) {
		t.Errorf("inspect through a shut door: %v", err)
	}
	if err := e.Stop(t.Context(), inst.ID, 0); err != nil { // the exit nobody hears of
		t.Fatal(err)
	}
	select {
	case exit := <-result:
		t.Errorf("an exit was reported that nobody could have seen: %+v", exit)
	default:
	}
	open()
	if exit := <-result; exit.Code != 137 {
		t.Errorf("exit code %d, want 137", exit.Code)
	}
	if again := <-hints; again != "" {
		t.Errorf("the hint after a reconnect is %q, want one for all", again)
	}
	cancel()
	for range hints {
	}
}

// A supervisor may start a container again in the moment in which it dies.
func TestAStopIsOverThoughTheContainerWasStartedAgain(t *testing.T) {
	e, owner, image := dockertest.Probe(t)
	w := container.Workload{
		Name: "assayd-docker-" + containertest.Unique(), Image: image, Argv: []string{"/probe", "sleep", "1h"},
		Network: container.NetworkNone, Labels: map[string]string{container.LabelOwner: owner},
	}
	first, err := e.Start(t.Context(), w)
	if err != nil {
		t.Fatal(err)
	}
	through := connect(t, afterKills(t, func() {
		if _, err := e.Wait(t.Context(), first.ID); err != nil {
			t.Error(err)
		}
		if _, err := e.Start(t.Context(), w); err != nil {
			t.Error(err)
		}
	}))
	if err := through.Stop(t.Context(), first.ID, 0); err != nil {
		t.Error(err)
	}
	if second, err := e.Inspect(t.Context(), first.ID); err != nil || second.Phase != container.PhaseRunning || !second.StartedAt.After(first.StartedAt) {
		t.Errorf("before %+v, after %+v, %v; want a second start that nobody stopped", first, second, err)
	}
}

func connect(t *testing.T, host string) *docker.Engine {
	t.Helper()
	e, err := docker.New(context.Background(), docker.Options{Host: host})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

func output(t *testing.T, e *docker.Engine, id string, args ...string) string {
	t.Helper()
	var out bytes.Buffer
	code, err := e.Exec(t.Context(), id, container.Command{Argv: append([]string{"/probe"}, args...), Stdout: &out})
	if err != nil || code != 0 {
		t.Fatalf("%q: exit code %d, %v", args, code, err)
	}
	return out.String()
}

// serve answers HTTP on a Unix socket until the test ends.
func serve(t *testing.T, socket string, h http.HandlerFunc) {
	t.Helper()
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: h}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(l) // ends with Close
	}()
	t.Cleanup(func() {
		_ = server.Close()
		<-done
	})
}
