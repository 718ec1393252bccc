//go:build linux

package guest

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"go.uber.org/goleak"

	"github.com/assayd/assayd/runtime/guest/protocol"
)

// The test binary is also the first process of the containers that tests make: new PID and
// mount namespaces, which need root.
func TestMain(m *testing.M) {
	switch os.Getenv("GUEST_TEST_ROLE") {
	case "run":
		os.Exit(firstProcess())
	case "hold":
		child := catchSignals()
		fmt.Println("ready")
		reapForever(child)
	case "attack":
		attack()
		os.Exit(0)
	case "hog":
		hog()
	case "careless":
		careless()
	}
	goleak.VerifyTestMain(m)
}

func firstProcess() int {
	root := os.Getenv("GUEST_TEST_ROOT")
	for _, step := range []func() error{
		func() error { return syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, "") },
		func() error { return syscall.Mount("proc", "/proc", "proc", 0, "") },
		func() error {
			if group := os.Getenv("GUEST_TEST_CGROUP"); group != "" {
				return os.WriteFile(filepath.Join(group, "cgroup.procs"), []byte("0"), 0)
			}
			return nil
		},
		func() error {
			at := layoutAt(root)
			at.relayAddr = "127.0.0.1:0"
			return supervise(at, slog.New(slog.NewTextHandler(os.Stderr, nil)))
		},
	} {
		if err := step(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return exitFailure
		}
	}
	return 0
}

// hog takes every process that can be had, again and again, and says so in a file.
func hog() {
	startThreads(spareThreads)
	for {
		_, err := syscall.ForkExec("/bin/sleep", []string{"sleep", "1000"}, &syscall.ProcAttr{})
		if err != nil {
			_ = os.WriteFile("full", nil, 0o644)
		}
	}
}

// careless makes as many processes as it is told to, and waits for none.
func careless() {
	n, err := strconv.Atoi(os.Getenv("GUEST_TEST_CHILDREN"))
	for range n {
		if err == nil {
			_, err = syscall.ForkExec("/bin/true", []string{"true"}, &syscall.ProcAttr{})
		}
	}
	fmt.Println(n, err)
	_ = syscall.Pause()
}

// attack sends every signal to the first process, as kill and as sigqueue do: the latter
// look like faults.
func attack() {
	for n := range 65 {
		_ = syscall.Kill(1, syscall.Signal(n))
		info := [16]uint64{} // siginfo: the number, the error, the code
		binary.NativeEndian.PutUint32((*[4]byte)(unsafe.Pointer(&info))[:], uint32(n))
		binary.NativeEndian.PutUint32((*[12]byte)(unsafe.Pointer(&info))[8:], math.MaxUint32) // SI_QUEUE is -1
		_, _, _ = syscall.RawSyscall(syscall.SYS_RT_SIGQUEUEINFO, 1, uintptr(n), uintptr(unsafe.Pointer(&info)))
	}
}

// patience bounds every wait of a test; none of them takes long.
const patience = 30 * time.Second

// site is one trial's container and the daemon beside it.
type site struct {
	t      *testing.T
	root   string
	config protocol.Config
	cgroup string

	mu      sync.Mutex
	changed chan struct{}
	hellos  []protocol.Hello
	events  []protocol.Event
	log     []byte
	beats   []protocol.Beat

	deadline time.Time
	ahead    time.Duration // what the daemon's clock is ahead of the guest's; 0 = it does not say
	order    chan struct{} // closed = End
	later    chan time.Time
	refuses  string // a type of events that this daemon does not know
	server   *http.Server
	serving  chan struct{} // closed = server let go of its socket
}

func newSite(t *testing.T, command ...string) *site {
	t.Helper()
	root, err := os.MkdirTemp("", "g") // short, for the sockets
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(root) })
	s := &site{
		t: t, root: root, changed: make(chan struct{}), order: make(chan struct{}), later: make(chan time.Time), deadline: time.Now().Add(time.Hour),
		config: protocol.Config{Version: protocol.Version, Trial: "r.e1.0", Command: command, Workdir: filepath.Join(root, "work")},
	}
	for _, dir := range []string{protocol.MountDir, "etc", "work"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(root, 0o755); err != nil {
		t.Fatal(err)
	}
	s.open()
	t.Cleanup(s.away)
	return s
}

// open starts the daemon.
func (s *site) open() {
	s.t.Helper()
	ln, err := net.Listen("unix", filepath.Join(s.root, protocol.GuestSocket))
	if err != nil {
		s.t.Fatal(err)
	}
	host := protocol.NewHost(protocol.HostOptions{Hello: s.hello, Log: s.take, Event: s.note, Beat: s.beat})
	s.server = &http.Server{Handler: s.withoutRefused(host)}
	s.serving = make(chan struct{})
	go func(srv *http.Server, done chan<- struct{}) {
		defer close(done)
		_ = srv.Serve(ln)
	}(s.server, s.serving)
}

// withoutRefused answers events of the type that this daemon does not know, and leaves the rest to
// the host.
func (s *site) withoutRefused(host http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.refuses == "" || r.URL.Path != "/v1/event" {
			host.ServeHTTP(w, r)
			return
		}
		var e protocol.Event
		text, err := io.ReadAll(r.Body)
		if err = errors.Join(err, json.Unmarshal(text, &e)); err != nil || e.Type == s.refuses {
			http.Error(w, "there is no such event", http.StatusBadRequest)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(text))
		host.ServeHTTP(w, r)
	})
}

// away stops the daemon; its socket is gone afterwards.
func (s *site) away() {
	_ = s.server.Close()
	<-s.serving
}

func (s *site) update(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *site) hello(_ context.Context, h protocol.Hello) (w protocol.Welcome, err error) {
	s.update(func() {
		s.hellos = append(s.hellos, h)
		w = protocol.Welcome{Deadline: s.deadline, LogNext: int64(len(s.log)), EventNext: len(s.events) + 1}
		if s.ahead != 0 {
			w.Now = time.Now().Add(s.ahead)
		}
	})
	return w, nil
}

func (s *site) take(_ context.Context, offset int64, r io.Reader) (next int64, err error) {
	text, err := io.ReadAll(r)
	s.update(func() {
		have := int64(len(s.log))
		if end := offset + int64(len(text)); offset <= have && end > have {
			s.log = append(s.log, text[have-offset:]...)
		}
		next = int64(len(s.log))
	})
	return next, err
}

func (s *site) note(_ context.Context, e protocol.Event) error {
	s.update(func() {
		if n := len(s.events); n == 0 || e.Seq > s.events[n-1].Seq {
			s.events = append(s.events, e)
		}
	})
	return nil
}

func (s *site) beat(ctx context.Context, b protocol.Beat) (protocol.Order, error) {
	s.update(func() { s.beats = append(s.beats, b) })
	select {
	case <-s.order:
		return protocol.Order{End: true}, nil
	case later := <-s.later:
		return protocol.Order{Deadline: later}, nil
	case <-time.After(50 * time.Millisecond): // keep tests that count beats short
		return protocol.Order{}, nil
	case <-ctx.Done():
		return protocol.Order{}, ctx.Err()
	}
}

// until waits for something to be true of what the daemon was told.
func (s *site) until(what string, reached func() bool) {
	s.t.Helper()
	late := time.After(patience)
	for {
		s.mu.Lock()
		ok, changed := reached(), s.changed
		s.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-changed:
		case <-late:
			s.mu.Lock()
			defer s.mu.Unlock()
			s.t.Fatalf("waited in vain until %s; events %+v, log %q", what, s.events, s.log)
		}
	}
}

// ended waits for the last event and returns it.
func (s *site) ended() protocol.Event {
	s.t.Helper()
	s.until("the agent has ended", func() bool {
		return len(s.events) > 0 && s.events[len(s.events)-1].Type == protocol.EventEnded
	})
	return s.events[len(s.events)-1]
}

// find gives the events of a type.
func (s *site) find(kind string) (found []protocol.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.events {
		if e.Type == kind {
			found = append(found, e)
		}
	}
	return found
}

// boot starts the container; it is gone at the end of the test.
func (s *site) boot() *exec.Cmd {
	s.t.Helper()
	config, err := json.Marshal(s.config)
	if err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.root, protocol.ConfigFile), config, 0o644); err != nil {
		s.t.Fatal(err)
	}
	cmd, _ := container(s.t, "run", "GUEST_TEST_ROOT="+s.root, "GUEST_TEST_CGROUP="+s.cgroup)
	return cmd
}

// container starts the test binary in a role as first process; the reader is its output.
func container(t *testing.T, role string, env ...string) (*exec.Cmd, io.Reader) {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append([]string{"GUEST_TEST_ROLE=" + role, "PATH=" + os.Getenv("PATH"), "HOME=/root"}, env...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS}
	if err := cmd.Start(); err != nil {
		t.Fatalf("make a PID namespace (this test needs root): %v", err)
	}
	t.Cleanup(func() {
		stop(cmd)
		if t.Failed() {
			t.Logf("the guest said:\n%s", stderr.String())
		}
	})
	return cmd, stdout
}

// stop kills a container as the engine does and waits until all in it is gone.
func stop(cmd *exec.Cmd) {
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}

func sh(script string) []string { return []string{"/bin/sh", "-c", script} }

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func lines(text string) []string { return strings.Split(strings.TrimSuffix(text, "\n"), "\n") }
