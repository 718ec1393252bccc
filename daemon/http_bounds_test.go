//go:build linux

package daemon

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/daemon/metrics"
	"github.com/assayd/assayd/daemon/web"
)

// longToken is one that a daemon takes.
const longToken = "0123456789abcdef0123456789abcdef"

// TestNobodyKeepsAConnectionOfTheNetworkBusy plays callers of the real server over pipes, whose
// deadlines are of the test's own time.
func TestNobodyKeepsAConnectionOfTheNetworkBusy(t *testing.T) {
	const head = "POST /v1/plan HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Length: 10\r\n\r\n"
	authorized, stranger := fmt.Sprintf(head, longToken), fmt.Sprintf(head, "guess")
	for _, tt := range []struct {
		name  string
		send  []string      // pieces
		pause time.Duration // before each but the first
		want  string        // how the answer begins; "" = there is none
		after time.Duration // until the connection is closed, at most; 0 = it stays
	}{
		{"a whole request", []string{authorized + "0123456789"}, 0, "HTTP/1.1 200", 0},
		{"a slow body that gets on", []string{authorized, "01", "23", "45", "67", "89"}, 29 * time.Second, "HTTP/1.1 200", 0},
		{"a body that does not", []string{authorized, "01"}, time.Second, "HTTP/1.1 500", 40 * time.Second},
		{"a head that does not end", []string{"POST /v1/plan HTTP/1.1\r\nHost:"}, 0, "", 10 * time.Second},
		{"a stranger's body", []string{stranger}, 0, "HTTP/1.1 401", 40 * time.Second},
		{"too large a body", []string{strings.Replace(authorized, ": 10", ": 2000000", 1) + strings.Repeat("x", maxBody+1)}, 0, "HTTP/1.1 500", 40 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				caller := serveOne(t, http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
					if _, err := io.Copy(io.Discard, q.Body); err != nil {
						w.WriteHeader(http.StatusInternalServerError)
						return
					}
					select { // what it asks for takes long
					case <-time.After(time.Hour):
					case <-q.Context().Done():
						w.WriteHeader(http.StatusGone)
					}
				}))
				go func() {
					for i, piece := range tt.send {
						if i > 0 {
							time.Sleep(tt.pause)
						}
						if _, err := io.WriteString(caller, piece); err != nil {
							return // it was cut off
						}
					}
				}()
				began := time.Now()
				read := bufio.NewReader(caller)
				line, err := read.ReadString('\n')
				if err != nil && tt.want != "" || !strings.HasPrefix(line, tt.want) {
					t.Fatalf("the answer begins with %q, %v; want %q", line, err, tt.want)
				}
				if tt.after == 0 {
					return
				}
				if _, err := io.Copy(io.Discard, read); err != nil || time.Since(began) > tt.after {
					t.Errorf("the connection was closed after %s, want %s at most: %v", time.Since(began), tt.after, err)
				}
			})
		})
	}
}

// serveOne starts the network's server and returns a connection to it.
func serveOne(t *testing.T, control http.Handler) net.Conn {
	t.Helper()
	near, far := net.Pipe()
	l := &oneConn{conns: make(chan net.Conn, 1)}
	l.conns <- far
	log := slog.New(slog.DiscardHandler)
	pages := web.New(web.Options{API: control, Tokens: []web.Token{{Role: web.Operator, Text: longToken, Whole: true}}, Owner: "0123456789abcdef", Log: log})
	d := &Daemon{opts: Options{Log: log}, pages: pages, metrics: metrics.New("test", config.DefaultSettings(nil))}
	server := d.network(context.Background())
	ended := make(chan error)
	go func() { ended <- server.Serve(l) }()
	t.Cleanup(func() {
		_ = near.Close()
		_ = server.Close()
		if err := served(<-ended); err != nil {
			t.Error(err)
		}
	})
	return near
}

// oneConn is a listener that accepts what is in its channel.
type oneConn struct{ conns chan net.Conn }

func (o *oneConn) Accept() (net.Conn, error) {
	c, ok := <-o.conns
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}

func (o *oneConn) Close() error   { close(o.conns); return nil }
func (o *oneConn) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }
