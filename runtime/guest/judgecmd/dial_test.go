//go:build linux

package judgecmd

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestDialIsAConnection: what goes in is what the server gets, and the other way round,
// also when the server begins to listen only later.
func TestDialIsAConnection(t *testing.T) {
	place, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := place.Addr().String()
	if err := place.Close(); err != nil {
		t.Fatal(err)
	}
	request, in := io.Pipe()
	out, answer := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- Dial(t.Context(), addr, request, answer) }()
	server := &http.Server{ReadHeaderTimeout: time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "at "+r.URL.Path)
	})}
	if place, err = net.Listen("tcp", addr); err != nil {
		t.Fatal(err)
	}
	go func() { _ = server.Serve(place) }()
	from := bufio.NewReader(out)
	for _, path := range []string{"/one", "/two"} { // the connection stays
		if _, err := io.WriteString(in, "GET "+path+" HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		r, err := http.ReadResponse(from, nil)
		if err != nil {
			t.Fatal(err)
		}
		if text, err := io.ReadAll(r.Body); err != nil || string(text) != "at "+path {
			t.Errorf("%q, %v", text, err)
		}
	}
	if err := in.Close(); err != nil { // the daemon has no more to say
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Errorf("at the end: %v", err)
	}
	if err := server.Close(); err != nil {
		t.Error(err)
	}
}

func TestDialEndsWithTheServer(t *testing.T) {
	place, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	request, in := io.Pipe()
	defer in.Close() //nolint:errcheck // a pipe in memory
	var out strings.Builder
	go func() { done <- Dial(t.Context(), place.Addr().String(), request, &out) }()
	conn, err := place.Accept()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, "bye"); err != nil {
		t.Fatal(err)
	}
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil || out.String() != "bye" {
		t.Errorf("%q, %v", out.String(), err)
	}
	if err := place.Close(); err != nil {
		t.Error(err)
	}
}

func TestDialGivesUp(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Dial(ctx, "127.0.0.1:1", strings.NewReader(""), io.Discard); err == nil || !strings.Contains(err.Error(), "127.0.0.1:1") {
		t.Errorf("a server that is not there: %v", err)
	}
}
