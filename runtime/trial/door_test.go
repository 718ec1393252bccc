package trial

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/assayd/assayd/runtime/guest"
)

// doorFolder is a folder with a short path.
func doorFolder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "door")
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

func saying(text string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) })
}

// ask sends a request through a socket of the folder.
func ask(t *testing.T, dir, socket string) string {
	t.Helper()
	client := http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", filepath.Join(dir, filepath.Base(socket)))
		},
	}}
	res, err := client.Get("http://daemon/")
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	if err := res.Body.Close(); err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestADoorHasASocketForEach(t *testing.T) {
	dir := doorFolder(t)
	d, err := openDoor(dir, saying("judge"), saying("guest"))
	if err != nil {
		t.Fatal(err)
	}
	defer d.close()
	for socket, mode := range map[string]os.FileMode{guest.JudgeSocket: 0o666, guest.GuestSocket: 0o600} {
		info, err := os.Stat(filepath.Join(dir, filepath.Base(socket)))
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != mode {
			t.Errorf("%s has mode %o, want %o: the agent is another user than the guest", socket, got, mode)
		}
	}
	if j, g := ask(t, dir, guest.JudgeSocket), ask(t, dir, guest.GuestSocket); j != "judge" || g != "guest" {
		t.Errorf("answers %q and %q", j, g)
	}
}

// TestADoorIsMadeAnewOverWhatACrashLeft: the folder is what is mounted, so that the new
// sockets are found in it.
func TestADoorIsMadeAnewOverWhatACrashLeft(t *testing.T) {
	dir := doorFolder(t)
	left, err := net.Listen("unix", filepath.Join(dir, filepath.Base(guest.JudgeSocket)))
	if err != nil {
		t.Fatal(err)
	}
	left.(*net.UnixListener).SetUnlinkOnClose(false)
	if err := left.Close(); err != nil {
		t.Fatal(err)
	}
	d, err := openDoor(dir, saying("again"), saying(""))
	if err != nil {
		t.Fatal(err)
	}
	defer d.close()
	if got := ask(t, dir, guest.JudgeSocket); got != "again" {
		t.Errorf("answer %q", got)
	}
}

func TestADoorHoldsSoManyConnections(t *testing.T) {
	dir := doorFolder(t)
	d, err := openDoor(dir, saying("judge"), saying("guest"))
	if err != nil {
		t.Fatal(err)
	}
	defer d.close()
	path := filepath.Join(dir, filepath.Base(guest.JudgeSocket))
	dial := func() net.Conn {
		c, err := net.Dial("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	var held []net.Conn
	for range maxConns {
		c := dial()
		// An answer says that the connection has its place.
		if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: d\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		held = append(held, c)
	}
	over := dial()
	if _, err := over.Read(make([]byte, 1)); err == nil {
		t.Error("a connection beyond the bound is served")
	}
	if got := ask(t, dir, guest.GuestSocket); got != "guest" {
		t.Errorf("an agent that holds all its connections keeps the guest out: %q", got)
	}
	for _, c := range append(held, over) {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestDoorsArePrivateAndShort(t *testing.T) {
	state := strings.Repeat("s", MaxStateDir)
	one, two := doorDir(state, "r.e1.aaaaaaaa", 1), doorDir(state, "r.e1.aaaaaaaa", 2)
	if one == two {
		t.Error("two tries share a folder")
	}
	if n := len(filepath.Join(one, filepath.Base(guest.GuestSocket))); n > 107 {
		t.Errorf("a socket's path has %d bytes, 107 are possible", n)
	}
	b := newBench(t)
	m := b.machine(b.fresh())
	s, _ := b.until(m, b.fresh(), Await)
	dir := doorDir(b.host.StateDir, s.ID, 1)
	parent, err := os.Stat(filepath.Dir(dir))
	if err != nil || parent.Mode().Perm() != 0o700 {
		t.Errorf("the parent of the folders: %v, %v", parent, err)
	}
}
