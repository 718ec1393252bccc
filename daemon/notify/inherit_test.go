package notify

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// TestListenersOfSystemd hands two real sockets to a child in the way systemd does.
func TestListenersOfSystemd(t *testing.T) {
	path := filepath.Join(t.TempDir(), "assayd.sock")
	unix := mustListen(t, "unix", path)
	tcp := mustListen(t, "tcp", "127.0.0.1:0")

	// LISTEN_PID must be the child's own, which only the child knows before it begins.
	child := exec.Command("/bin/sh", "-c", `LISTEN_PID=$$ exec "$0"`, os.Args[0])
	child.Env = append(os.Environ(), "NOTIFY_TEST_CHILD=1", "LISTEN_FDS=2", "LISTEN_FDNAMES=assayd.socket:assayd.socket")
	child.Stderr = os.Stderr
	for _, listener := range []interface{ File() (*os.File, error) }{unix.(*net.UnixListener), tcp.(*net.TCPListener)} {
		file, err := listener.File()
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = file.Close() }()
		child.ExtraFiles = append(child.ExtraFiles, file)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	for _, want := range []struct{ network, addr, greeting string }{
		{"unix", path, "control"},
		{"tcp", tcp.Addr().String(), "http"},
	} {
		conn, err := net.Dial(want.network, want.addr)
		if err != nil {
			t.Fatal(err)
		}
		if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(conn)
		_ = conn.Close()
		if err != nil || string(got) != want.greeting {
			t.Errorf("the %s socket greets with %q (%v), want %q", want.network, got, err, want.greeting)
		}
	}
	if err := child.Wait(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Errorf("the child removed systemd's socket: %v", err)
	}
}

func mustListen(t *testing.T, network, addr string) net.Listener {
	t.Helper()
	listener, err := net.Listen(network, addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	return listener
}

// serveInherited is the child: it greets one caller on each socket with the socket's
// name.
func serveInherited() {
	control, http, err := Listeners()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for _, socket := range []struct {
		name      string
		listeners []net.Listener
	}{{"control", control}, {"http", http}} { // in the order in which they are called
		for _, listener := range socket.listeners {
			conn, err := listener.Accept()
			if err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			_, _ = io.WriteString(conn, socket.name)
			_ = conn.Close()
			_ = listener.Close()
		}
	}
}

func TestListenersWithoutSystemd(t *testing.T) {
	control, http, err := Listeners()
	if err != nil || len(control)+len(http) != 0 {
		t.Errorf("got %v, %v, %v; want none", control, http, err)
	}
}
