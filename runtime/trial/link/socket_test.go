package link

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/assayd/assayd/runtime/guest/protocol"
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
	d, err := openSockets(dir, saying("judge"), saying("guest"))
	if err != nil {
		t.Fatal(err)
	}
	defer d.close()
	for socket, mode := range map[string]os.FileMode{protocol.JudgeSocket: 0o666, protocol.GuestSocket: 0o600} {
		info, err := os.Stat(filepath.Join(dir, filepath.Base(socket)))
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != mode {
			t.Errorf("%s has mode %o, want %o: the agent is another user than the guest", socket, got, mode)
		}
	}
	if j, g := ask(t, dir, protocol.JudgeSocket), ask(t, dir, protocol.GuestSocket); j != "judge" || g != "guest" {
		t.Errorf("answers %q and %q", j, g)
	}
}

// TestADoorIsMadeAnewOverWhatACrashLeft: the folder is what is mounted, so that the new
// sockets are found in it.
func TestADoorIsMadeAnewOverWhatACrashLeft(t *testing.T) {
	dir := doorFolder(t)
	left, err := net.Listen("unix", filepath.Join(dir, filepath.Base(protocol.JudgeSocket)))
	if err != nil {
		t.Fatal(err)
	}
	left.(*net.UnixListener).SetUnlinkOnClose(false)
	if err := left.Close(); err != nil {
		t.Fatal(err)
	}
	d, err := openSockets(dir, saying("again"), saying(""))
	if err != nil {
		t.Fatal(err)
	}
	defer d.close()
	if got := ask(t, dir, protocol.JudgeSocket); got != "again" {
		t.Errorf("answer %q", got)
	}
}

func TestADoorHoldsSoManyConnections(t *testing.T) {
	dir := doorFolder(t)
	d, err := openSockets(dir, saying("judge"), saying("guest"))
	if err != nil {
		t.Fatal(err)
	}
	defer d.close()
	path := filepath.Join(dir, filepath.Base(protocol.JudgeSocket))
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
	if got := ask(t, dir, protocol.GuestSocket); got != "guest" {
		t.Errorf("an agent that holds all its connections keeps the guest out: %q", got)
	}
	for _, c := range append(held, over) {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestToRefuseCostsTheDaemonLittle: an agent that connects all the time is refused fifty
// times a second, and who has to wait gets the first place.
func TestToRefuseCostsTheDaemonLittle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &boundedListener{slots: make(chan struct{}, 1)}
		for _, tt := range []struct {
			free  time.Duration // when the place is given back; 0 = never
			place bool
			after time.Duration
		}{{0, true, 0}, {0, false, fullPause}, {fullPause / 2, true, fullPause / 2}, {0, false, fullPause}} {
			if tt.free > 0 {
				time.AfterFunc(tt.free, func() { <-l.slots })
			}
			began := time.Now()
			if got := l.place(); got != tt.place || time.Since(began) != tt.after {
				t.Errorf("a place: %v after %s, want %v after %s", got, time.Since(began), tt.place, tt.after)
			}
		}
	})
}

// TestADoorReadsNoLongHeaders: headers take many times their size in memory.
func TestADoorReadsNoLongHeaders(t *testing.T) {
	dir := doorFolder(t)
	d, err := openSockets(dir, saying("judge"), saying("guest"))
	if err != nil {
		t.Fatal(err)
	}
	defer d.close()
	for name, tt := range map[string]struct{ request, answer string }{
		"headers that a client has":   {"GET / HTTP/1.1\r\nHost: d\r\nX: " + strings.Repeat("x", maxHeader/2) + "\r\n\r\n", "200 OK"},
		"one that is long":            {"GET / HTTP/1.1\r\nHost: d\r\nX: " + strings.Repeat("x", 2*maxHeader) + "\r\n\r\n", "431 "},
		"many":                        {"GET / HTTP/1.1\r\nHost: d\r\n" + strings.Repeat("X:\r\n", maxHeader/2) + "\r\n", "431 "},
		"an address that is long":     {"GET /" + strings.Repeat("x", 2*maxHeader) + " HTTP/1.1\r\nHost: d\r\n\r\n", "431 "},
		"a question about the server": {"OPTIONS * HTTP/1.1\r\nHost: d\r\n\r\n", "200 OK\r\n"}, // the handler's, as any other
	} {
		for socket, text := range map[string]string{protocol.JudgeSocket: "judge", protocol.GuestSocket: "guest"} {
			c, err := net.Dial("unix", filepath.Join(dir, filepath.Base(socket)))
			if err != nil {
				t.Fatal(err)
			}
			_, _ = io.WriteString(c, tt.request) // which may be answered before it is whole
			answer := make([]byte, 512)
			n, err := c.Read(answer)
			if got := string(answer[:n]); err != nil || !strings.Contains(got, tt.answer) || tt.answer == "200 OK\r\n" && !strings.Contains(got, text) {
				t.Errorf("%s at %s: %.100q, %v", name, socket, got, err)
			}
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// stalled sends the head of a request and waits until its body is waited for.
func stalled(socket, path string) (net.Conn, error) {
	c, err := net.Dial("unix", socket)
	if err != nil {
		return nil, err
	}
	_, err = fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: d\r\nContent-Length: 100\r\nExpect: 100-continue\r\n\r\n", path)
	if err == nil {
		_, err = bufio.NewReader(c).ReadString('\n')
	}
	return c, err
}

func TestADoorClosesOnAStalledUpload(t *testing.T) {
	dir := doorFolder(t)
	swallow := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) })
	d, err := openSockets(dir, swallow, swallow)
	if err != nil {
		t.Fatal(err)
	}
	c, err := stalled(filepath.Join(dir, filepath.Base(protocol.GuestSocket)), "/")
	if err != nil {
		t.Fatal(err)
	}
	d.close() // or the test never ends
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

// A guest that says an old deadline again and again is told the later one each time, and not as fast as it asks.
func TestAGuestThatForgetsTheDeadlineKeepsNobodyBusy(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	l := &Link{ctx: ctx, end: make(chan struct{})}
	l.Due(time.Now().Add(time.Hour))
	began := time.Now()
	for range 3 {
		o, err := l.beat(t.Context(), protocol.Beat{Deadline: began})
		if err != nil || !o.Deadline.After(began) {
			t.Fatalf("it is told %+v, %v", o, err)
		}
	}
	if took := time.Since(began); took < 3*orderHold {
		t.Errorf("three answers took %s", took)
	}
	l.OrderEnd()
	if o, err := l.beat(t.Context(), protocol.Beat{Deadline: began}); err != nil || !o.End {
		t.Errorf("at the end it is told %+v, %v", o, err)
	}
}
