//go:build linux

package guest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// relaySite is a relay in front of a socket that does not exist yet.
type relaySite struct {
	socket string
	addr   string
}

func newRelaySite(t *testing.T, change func(*relay)) relaySite {
	t.Helper()
	dir, err := os.MkdirTemp("", "r")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	r := newRelay(filepath.Join(dir, "judge.sock"), slog.New(slog.DiscardHandler))
	if change != nil {
		change(&r)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.serve(ctx, ln)
	}()
	t.Cleanup(func() {
		cancel()
		within(t, "the end of the relay", done)
	})
	return relaySite{r.socket, ln.Addr().String()}
}

func (s relaySite) listen(t *testing.T) *net.UnixListener {
	t.Helper()
	ln, err := net.Listen("unix", s.socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	return ln.(*net.UnixListener)
}

func (s relaySite) dial(t *testing.T) *net.TCPConn {
	t.Helper()
	c, err := net.Dial("tcp", s.addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	return c.(*net.TCPConn)
}

func accept(t *testing.T, ln *net.UnixListener) *net.UnixConn {
	t.Helper()
	if err := ln.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	c, err := ln.AcceptUnix()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	return c
}

func send(t *testing.T, c halves, text string) {
	t.Helper()
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
}

func expect(t *testing.T, r io.Reader, text string) {
	t.Helper()
	got := make([]byte, len(text))
	if _, err := io.ReadFull(r, got); err != nil || string(got) != text {
		t.Fatalf("got %q, %v, want %q", got, err, text)
	}
}

func expectEnd(t *testing.T, r io.Reader) {
	t.Helper()
	if rest, err := io.ReadAll(r); err != nil || len(rest) > 0 {
		t.Fatalf("got %q, %v, want the end", rest, err)
	}
}

func TestEachHalfOfAConnectionEndsByItself(t *testing.T) {
	s := newRelaySite(t, nil)
	ln := s.listen(t)
	client := s.dial(t)
	send(t, client, "question")
	if err := client.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	judge := accept(t, ln)
	expect(t, judge, "question")
	expectEnd(t, judge)
	send(t, judge, "answer") // after the client's half has ended
	expect(t, client, "answer")
	_ = judge.Close()
	expectEnd(t, client)
}

func TestTheJudgesHalfMayEndFirst(t *testing.T) {
	s := newRelaySite(t, nil)
	ln := s.listen(t)
	client := s.dial(t)
	judge := accept(t, ln)
	if err := judge.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	expectEnd(t, client)
	send(t, client, "more")
	expect(t, judge, "more")
}

func TestAClientThatLingersLosesItsPlace(t *testing.T) {
	s := newRelaySite(t, func(r *relay) { r.linger, r.limit = time.Millisecond, 1 })
	ln := s.listen(t)
	idle := s.dial(t)
	_ = accept(t, ln).Close()
	expectEnd(t, idle) // and never closes
	client := s.dial(t)
	send(t, accept(t, ln), "hello")
	expect(t, client, "hello")
}

func TestTheRelayFollowsTheSocketToAnotherInode(t *testing.T) {
	s := newRelaySite(t, nil)
	for _, name := range []string{"first", "second"} {
		ln := s.listen(t)
		client := s.dial(t)
		send(t, accept(t, ln), name)
		expect(t, client, name)
		_ = ln.Close() // removes the socket
	}
}

func TestAClientWaitsUntilTheDaemonIsBackAndItsRequestArrivesOnce(t *testing.T) {
	s := newRelaySite(t, nil)
	client := s.dial(t)
	send(t, client, "question")
	ln := s.listen(t)
	judge := accept(t, ln)
	expect(t, judge, "question")
	// A connection that breaks is not made again: the request may have had its effect.
	if err := judge.Close(); err != nil {
		t.Fatal(err)
	}
	_, _ = io.ReadAll(client)
	other := s.dial(t)
	send(t, other, "another")
	expect(t, accept(t, ln), "another")
}

func TestARequestOfAClientThatLeftDoesNotArriveLater(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close() //nolint:errcheck // of this test
	client := relaySite{addr: ln.Addr().String()}.dial(t)
	conn, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close() //nolint:errcheck // of this test
	send(t, client, "stale")
	_ = client.Close()
	r := newRelay(filepath.Join(t.TempDir(), "nobody"), slog.New(slog.DiscardHandler))
	r.patience = patience
	if _, err := r.dial(t.Context(), conn.(*net.TCPConn)); !errors.Is(err, errAbandoned) {
		t.Errorf("error %v", err)
	}
}

func expectClosed(t *testing.T, c net.Conn) {
	t.Helper()
	_, _ = io.ReadAll(c) // an end or a reset
}

func TestARelayThatCannotConnectClosesInTheEnd(t *testing.T) {
	s := newRelaySite(t, func(r *relay) { r.patience = 30 * time.Millisecond })
	expectClosed(t, s.dial(t))
}

func TestConnectionsAreBoundedAndQueued(t *testing.T) {
	s := newRelaySite(t, func(r *relay) { r.limit = 2 })
	ln := s.listen(t)
	var clients []*net.TCPConn
	for range 3 {
		clients = append(clients, s.dial(t))
	}
	first, second := accept(t, ln), accept(t, ln)
	if err := ln.SetDeadline(time.Now().Add(20 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if c, err := ln.AcceptUnix(); err == nil {
		_ = c.Close()
		t.Fatal("a third connection at the same time")
	}
	_, _ = first.Close(), second.Close()
	_, _ = clients[0].Close(), clients[1].Close()
	send(t, accept(t, ln), "third")
	expect(t, clients[2], "third")
}

func TestManyRequestsAtOnceThroughTheRelay(t *testing.T) {
	s := newRelaySite(t, nil)
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, _ = w.Write(body)
	})}
	served := make(chan struct{})
	ln := s.listen(t)
	go func() {
		defer close(served)
		_ = server.Serve(ln)
	}()
	client := &http.Client{Transport: &http.Transport{}}
	var wg sync.WaitGroup
	for i := range 40 {
		wg.Go(func() {
			body := bytes.Repeat([]byte{byte(i)}, 100_000)
			res, err := client.Post("http://"+s.addr, "", bytes.NewReader(body))
			if err != nil {
				t.Error(err)
				return
			}
			defer res.Body.Close() //nolint:errcheck // only read
			if got, err := io.ReadAll(res.Body); err != nil || !bytes.Equal(got, body) {
				t.Errorf("%d bytes came back, %v", len(got), err)
			}
		})
	}
	wg.Wait()
	client.CloseIdleConnections()
	_ = server.Close()
	<-served
}
